// Questions of the lecturer in this browser: the written ones, and those that a room was asked.

import { storedValue } from "./room_state.js";

export const MAX_OWN = 60; // written questions
const MAX_ASKED = 50; // of one room
const storedOwn = storedValue("own-questions"), storedAsked = storedValue("asked");

export const ownQuestions = () => { const list = storedOwn.get(); return Array.isArray(list) ? list : []; };
export const saveOwn = (list) => storedOwn.set(list.slice(0, MAX_OWN));

// The fields of a question that the server receives.
export const asOwn = ({ kind, text, options, right, side }) => ({ kind, text, options, right, side });

// The first written question that a room was not asked.
export const nextOwn = (code) => ownQuestions().find(({ asked }) => asked !== code);

// The asked questions of a room, the last one first. `number` is that of its last round.
export function askedIn(code) {
  const stored = storedAsked.get();
  return code && stored?.code === code ? stored.list : [];
}

export function rememberAsked(code, made, { number, round }, again) {
  const { guess: _guess, step: _step, back: _back, ...question } = made;
  const others = askedIn(code).filter((each) => each.number !== again && each.number !== number);
  storedAsked.set({ code, list: [{ made: question, number, round }, ...others].slice(0, MAX_ASKED) });
  const list = ownQuestions(), same = list.find((each) => each.kind === made.kind && each.text.trim() === made.text && each.asked !== code);
  if (same) saveOwn(list.map((each) => (each === same ? { ...each, asked: code } : each)));
}
