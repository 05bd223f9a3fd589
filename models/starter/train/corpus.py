"""Writes corpus.txt, which the storyteller learns from: short texts about a sluice and its keepers.

    python models/starter/train/corpus.py

Texts are separated by an empty line. Each follows one of a few plots, whose sentences are drawn
among variants with names, boats, freights and places of one small world. All of it was written for
this project.
"""

import random
from pathlib import Path

SEED = 11
TEXTS = 190
LONGEST = 700
FILE = Path(__file__).resolve().parent / "corpus.txt"

WOMEN = ["Ada", "Cora", "Elin", "Greta", "Iris", "Lena", "Nora", "Tilda"]
MEN = ["Bram", "Dirk", "Finn", "Hugo", "Joost", "Mats", "Otto", "Piet"]
BOATS = [
    *["the Heron", "the Otter", "the Swallow", "the Marigold", "the Old Penny", "the Lantern"],
    *["the Grey Goose", "the Little Anna", "the Kingfisher", "the Patience"],
]
FREIGHTS = [
    *["salt", "bricks", "apples", "letters", "wool", "barley", "lamp oil", "timber", "cheese"],
    *["clay", "honey", "seed potatoes"],
]
PLACES = [
    *["the mill", "the market", "the harbour", "the upper lake", "the long meadow"],
    *["the chapel bridge", "the brickworks", "the old town"],
]
WEATHERS = [
    *["The morning was grey and still", "Rain had fallen all night", "The sun stood low"],
    *["Mist lay on the water", "A warm wind came from the south", "Frost was on the reeds"],
    *["The day was bright and dry", "Clouds ran over the meadow"],
]
PAUSES = ["After a while", "By and by", "In the end", "Before long", "At last"]
NUMBERS = ["two", "three", "four", "five", "six", "seven", "eight", "nine"]
ENDS = [
    "Then it was quiet at the sluice again.",
    "The water lay flat, as if nothing had been.",
    "The gate closed, and the lane was free for the next.",
    "That was all, and it was enough for one day.",
    "Nobody had waited longer than they had to.",
    "The lamp at the gate burned until morning.",
    "So it was written in the book, and so it stayed.",
    "The heron on the post had not moved at all.",
]


class Scene:
    """Who and what one text is about. Names stay the same until its end."""

    def __init__(self, draw):
        self.pick = draw.choice
        woman = draw.random() < 0.5
        self.keeper = self.pick(WOMEN if woman else MEN)
        self.their = "her" if woman else "his"
        self.child = self.pick(MEN if woman else WOMEN)
        self.boats = draw.sample(BOATS, 3)
        self.freights = draw.sample(FREIGHTS, 3)
        self.places = draw.sample(PLACES, 2)
        self.count = self.pick(NUMBERS)

    def opening(self):
        return self.pick([
            f"{self.pick(WEATHERS)} when {self.keeper} opened the door of the house by the gate.",
            f"{self.pick(WEATHERS)}, and {self.keeper} was already at the gate.",
            f"Every morning {self.keeper} the keeper walks once around the basin.",
            f"{self.keeper} has kept the sluice below {self.places[0]} for {self.count} years.",
        ])

    def arrival(self, index):
        boat, freight = self.boats[index], self.freights[index]
        return self.pick([
            f"{capital(boat)} came up from {self.places[1]} with {freight}.",
            f"{capital(boat)} came down the canal, heavy with {freight}.",
            f"Round the bend came {boat} with a load of {freight}.",
        ])

    def passage(self, boat):
        return self.pick([
            f"{self.keeper} opened the lower gate, let {boat} in, and closed it behind her.",
            f"{self.keeper} turned the wheel, the water rose, and {boat} rose with it.",
            f"The gate swung open, and {boat} slid into the chamber without a sound.",
        ])

    def closing(self):
        return self.pick(ENDS)


def capital(text):
    return text[0].upper() + text[1:]


def one_boat(s):
    boat = s.boats[0]
    return [
        s.opening(),
        s.arrival(0),
        s.pick([
            f'"Is the lane free?" called the skipper. "It is free," said {s.keeper}.',
            f'"How deep is the water today?" called the skipper. "Deep enough," said {s.keeper}.',
            f"The skipper rang the bell {s.count} times, as skippers do.",
        ]),
        s.passage(boat),
        f"{s.pick(PAUSES)} the upper gate opened, and {boat} went on to {s.places[0]}.",
        s.closing(),
    ]


def three_boats(s):
    first, second, third = s.boats
    rule = s.pick([
        f'"Who came first goes first," said {s.keeper}, and so {first} went in before the others.',
        f'"The smallest goes first," said {s.keeper}, "for it keeps the others waiting least."',
        f'"Each in turn, and nobody twice," said {s.keeper}, and looked into the book.',
        f'"Letters before bricks," said {s.keeper}, for that was the rule of the week.',
    ])
    return [
        f"Three boats lay before the gate: {first}, {second} and {third}.",
        s.pick([
            f"{capital(first)} carried {s.freights[0]}, {second} carried {s.freights[1]}, "
            f"and {third} was empty.",
            "The skippers did not agree who had been there first.",
        ]),
        rule,
        f"First {first} passed, then {second}, and {third} was the last.",
        s.pick([
            f"It took the whole morning, but all three had left for {s.places[0]} by noon.",
            f"{s.pick(PAUSES)} the last gate closed behind {third}.",
        ]),
        s.closing(),
    ]


def question(s):
    asked, answer = s.pick([
        ("Why do we not open both gates at once?",
         "Because then the whole lake would go for a walk"),
        ("Why does the big boat wait for the small one?",
         "Because the small one is through before the big one has untied its rope"),
        ("Who decides which boat is next?",
         "The rule decides, and I only turn the wheel"),
        ("What is in the book?",
         "Every boat that ever passed, and how long it had to wait"),
        ("Can a boat turn back inside the chamber?",
         "No, what has begun is brought to its end, and then we choose again"),
        ("How much water does one boat need?",
         "One chamber full, whether the boat is large or small, so we fill it well"),
    ])
    return [
        s.opening(),
        f'"{asked}" asked {s.child}, who was {s.count} years old.',
        f'"{answer}," said {s.keeper}.',
        s.pick([
            f"{s.child} thought about it until {s.boats[0]} came with {s.freights[0]}.",
            f"{s.child} nodded and went to feed the ducks.",
            f"{s.child} wrote it down on the last page of the book.",
        ]),
        s.closing(),
    ]


def storm(s):
    return [
        "In the night the wind turned, and by morning the canal ran high.",
        s.pick([
            f"{s.keeper} tied down the wheel and counted the planks of the gate.",
            f"{s.keeper} put on {s.their} long coat and lit the red lamp.",
        ]),
        s.pick([
            f"{capital(s.boats[0])} lay at {s.places[0]} and could not leave.",
            f"{capital(s.boats[0])} and {s.boats[1]} lay side by side below the gate and waited.",
        ]),
        f'"We open when the water says so," said {s.keeper}, "and not an hour before."',
        s.pick([
            f"On the {s.pick(['second', 'third', 'fourth'])} day the water fell by a hand.",
            "Towards evening the rain grew thin, and the water fell.",
        ]),
        f"{s.pick(PAUSES)} the lamp was green, and {s.boats[0]} passed with {s.freights[0]}.",
        s.closing(),
    ]


def repair(s):
    part = s.pick(["the lower gate", "the upper gate", "the iron wheel", "the old winch"])
    return [
        f"One day {part} made a sound like a tired goose.",
        f'"It wants oil," said {s.keeper}. "It wants a new bolt," said {s.child}.',
        s.pick([
            f"They looked for the fault for {s.count} hours and found a small stone.",
            f"They took out {s.count} bolts, cleaned them, and put them back in order.",
        ]),
        s.pick([
            f"Meanwhile {s.boats[0]} waited with {s.freights[0]}, and nobody complained.",
            f"Meanwhile the other lane stayed open, and {s.boats[0]} lost no time.",
        ]),
        f"{s.pick(PAUSES)} {part} turned as it had when it was new.",
        s.closing(),
    ]


def animal(s):
    who, does = s.pick([
        ("the heron", "stands on the post and watches the fish go by"),
        ("the cat", "sleeps on the warm boards above the winch"),
        ("the old duck", "swims through the gate as if it were a boat"),
        ("the otter", "knows every stone under the bridge"),
    ])
    return [
        f"At the sluice below {s.places[0]} {who} {does}.",
        s.pick([
            f"{s.keeper} says that it has never paid and never waited.",
            f"{s.keeper} has a line for it in the book, between {s.boats[0]} and {s.boats[1]}.",
            f"{s.child} brings it bread, and {s.keeper} looks the other way.",
        ]),
        s.pick([
            f"When {s.boats[0]} comes with {s.freights[0]}, it does not even turn its head.",
            "When the bell rings, it is always the first at the gate.",
        ]),
        s.closing(),
    ]


def long_day(s):
    first, second, third = s.boats
    return [
        f"This is the story of a long day at the gate, as {s.keeper} tells it.",
        f"At six o'clock {first} came from {s.places[1]} with {s.freights[0]}.",
        s.passage(first),
        f"At eight o'clock {second} came with {s.freights[1]}, and the skipper asked for bread.",
        s.passage(second),
        f"At noon it was so quiet that {s.keeper} could hear the clock of {s.places[0]}.",
        f"At four o'clock {third} came and had to wait for {s.count} minutes.",
        f"{s.pick(PAUSES)} the chamber was full, and {third} went on to {s.places[0]}.",
        f"At nine o'clock {s.keeper} closed the book.",
        s.closing(),
    ]


PLOTS = {one_boat: 5, three_boats: 4, question: 4, storm: 3, repair: 3, animal: 2, long_day: 5}


def texts():
    """All texts, none twice, none longer than LONGEST bytes, in an order without order."""
    draw = random.Random(SEED)
    found = {}
    while len(found) < TEXTS:
        [plot] = draw.choices(list(PLOTS), PLOTS.values())
        text = " ".join(plot(Scene(draw)))
        if len(text) <= LONGEST:
            found[text] = None
    return list(found)


if __name__ == "__main__":
    FILE.write_text("\n\n".join(texts()) + "\n")
