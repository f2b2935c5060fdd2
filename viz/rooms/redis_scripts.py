"""What Redis itself does with rooms, as one step that no other process comes between."""

from __future__ import annotations

# KEYS: room, rooms. ARGV: text, s to live, code, when moved, which have ended by now, most rooms,
# which are idle by now, since when others live, where all keys begin, told.
OPEN = """
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', ARGV[5])
if redis.call('EXISTS', KEYS[1]) == 1 then return 'taken' end
if redis.call('ZCARD', KEYS[2]) >= tonumber(ARGV[6]) then
    local left = nil
    for _, code in ipairs(redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', ARGV[7])) do
        local count = 0
        for _, told in ipairs(redis.call('HVALS', ARGV[9] .. 'followers:' .. code)) do
            local here, when = string.match(told, '(%d+) (%S+)')
            if tonumber(when) >= tonumber(ARGV[8]) then count = count + tonumber(here) end
        end
        if count == 0 then left = code break end
    end
    if not left then return 'full' end
    redis.call('DEL', ARGV[9] .. 'room:' .. left, ARGV[9] .. 'followers:' .. left)
    redis.call('ZREM', KEYS[2], left)
    redis.call('PUBLISH', ARGV[10], left)
end
redis.call('SET', KEYS[1], ARGV[1], 'EX', ARGV[2])
redis.call('ZADD', KEYS[2], ARGV[4], ARGV[3])
return 'done'
"""
# KEYS: room, rooms. ARGV: text before, text, s to live, code, when moved, where to tell or nothing.
CHANGE = """
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2], 'EX', ARGV[3])
redis.call('ZADD', KEYS[2], ARGV[5], ARGV[4])
if ARGV[6] ~= '' then redis.call('PUBLISH', ARGV[6], ARGV[4]) end
return 1
"""
# KEYS: followers. ARGV: process, how many there, now, since when others live, most or nothing, s to keep.
COUNT = """
local others = 0
local found = redis.call('HGETALL', KEYS[1])
for n = 1, #found, 2 do
    local count, when = string.match(found[n + 1], '(%d+) (%S+)')
    if found[n] ~= ARGV[1] and tonumber(when) >= tonumber(ARGV[4]) then others = others + tonumber(count) end
end
if ARGV[5] ~= '' and others + tonumber(ARGV[2]) > tonumber(ARGV[5]) then return 0 end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2] .. ' ' .. ARGV[3])
redis.call('EXPIRE', KEYS[1], ARGV[6])
return 1
"""
