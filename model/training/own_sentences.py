"""What is watched through a training where no file of probes is given: sentences of the project's own."""

from __future__ import annotations

from model.folders import SHIPPED

PAIRS = SHIPPED / "probes.txt"  # English and French, for a model that translates the one into the other
PAIRED = ("English", "French")
BEGUN = (  # name and text, for a model that goes on with one
    ("king", "Once upon a time there was a king who had three sons."),
    ("door", "He opened the door and went into the room."),
    ("river", "They walked along the river until the sun went down."),
    ("mother", "The little girl said to her mother that she was hungry."),
    ("letter", "She sat down at the table and wrote a long letter."),
    ("night", "It was a dark night and the wind was cold."),
    ("old man", "The old man looked at the young man and smiled."),
    ("horse", "He got on his horse and rode away as fast as he could."),
    ("question", "What do you want to do now?"),
    ("answer", "I do not know, said the boy."),
    ("not only", "There was not a single light in the house."),
    ("list", "He had a dog, a cat, and a bird, and the dog, the cat, and the bird were friends."),
)
BLANKED = (  # the same with a word that is to be filled in
    ("door", "He opened the [door] and went into the room."),
    ("king", "The king and the [queen] lived in a great castle."),
    ("her", "The girl took off [her] hat and sat down."),
    ("was", "It [was] a dark night and the wind was cold."),
    ("of", "She drank a cup [of] tea and went to bed."),
    ("and", "The old man [and] his wife had two sons."),
    ("not", "I do [not] know what you want."),
    ("horse", "He got on his [horse] and rode away."),
    ("to", "They wanted [to] go home before night."),
    ("him", "The boy called his dog and the dog came to [him]."),
    ("comma", "Yes[,] said the man, you are right."),
    ("were", "The children [were] playing in the garden."),
)
JUDGED = (  # texts that speak for something, or against it
    ("warm", "A warm and funny film that I enjoyed from beginning to end."),
    ("dull", "A dull and empty story that goes nowhere."),
    ("not bad", "This is not a bad film at all."),
    ("not good", "This is not a good film."),
    ("actors", "The actors are wonderful, but the story is a mess."),
    ("story", "The story is a mess, but the actors are wonderful."),
    ("never", "It never bores you for a moment."),
    ("bores", "It bores you from the first moment."),
    ("too long", "Far too long and far too loud."),
    ("tender", "Tender, clever and beautifully made."),
    ("waste", "A waste of time and of good actors."),
    ("surprise", "What a lovely surprise!"),
)
