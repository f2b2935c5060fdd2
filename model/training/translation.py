"""--task translate: an encoder-decoder learns from pairs of sentences."""

from __future__ import annotations

from model.evaluation import translation_card
from model.text.augmented import with_typed_copies
from model.text.corpus import Corpus, DataError, count_tokens, read_pairs, with_typeset_copies
from model.text.languages import record_of
from model.text.probes import read_probes
from model.text.seen import Seen
from model.training import snapshots, written
from model.training.epochs import Epochs
from model.training.loss import batch_loss
from model.training.material import Material, Order
from model.training.prepare import vocabularies
from model.training.validation import Translations


def prepare(order: Order) -> Material:
    """Pairs of all files, with copies as people type them; of dev the first target of each source."""
    files, (dev,), config = order.files.train, order.files.dev, order.config
    read = [pair for path in files for pair in read_pairs(path)]
    reads, writes = order.languages
    shipped = next((path for path in record_of(reads).probes.get(writes, ()) if path.exists()), None)
    probes = order.files.probes or shipped
    watched = read_probes(probes) if probes else []
    pairs = with_typed_copies(with_typeset_copies(read), config.typed_copies)
    both = order.vocabulary(lambda: vocabularies(pairs, config.vocab_size, order.options.get("joint_vocab", True)))
    model, corpus = order.model(*both), Corpus.encode(pairs, *both)
    epochs = Epochs(corpus, pairs, *both, config, read)
    if not len(corpus):
        raise DataError(f"{', '.join(map(str, files))}: every pair is longer than the text limit.")
    counts = {
        "source": count_tokens(corpus.sources, both[0].size),
        "target": count_tokens(corpus.targets, both[1].size),
    }

    def seen(epoch: int) -> Seen:
        known = epochs.usual(epoch)
        return Seen.count(known.sources, known.targets, both[0], written=len(corpus))

    copies = len(pairs) - len(read)
    told = f"{len(corpus)} pairs"
    if copies:
        told += f" ({copies} of them copies as people type them)"
    if corpus.dropped:
        told += f", {corpus.dropped} left out as too long"
    return Material(
        *both,
        model=model,
        epochs=epochs,
        dev=Translations(dev, *both, 4 * config.batch_tokens),
        loss=batch_loss,
        size={"pairs": len(corpus), "copies": sum(row >= len(read) for row in corpus.kept)},
        told=told,
        counts=counts,
        seen=seen,
        card=translation_card.card,
        watched=snapshots.encode(watched, *both),
        writes=written.translations(both[1]),
    )
