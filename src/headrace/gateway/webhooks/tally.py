"""Counts of a webhook's deliveries through this gateway. They outlive couriers, which come and go with every change."""

from headrace.gateway.webhooks.retry import Answer

ACCEPTED, REFUSED, UNANSWERED = "accepted", "refused", "unanswered"


class Tally:
    def __init__(self) -> None:
        self.tries = {ACCEPTED: 0, REFUSED: 0, UNANSWERED: 0}
        self.retries = 0
        self.messages = 0
        self.dead_letters = 0

    def on_answer(self, answer: Answer, tries: int, messages: int) -> None:
        self.tries[ACCEPTED if answer.is_accepted else REFUSED if answer.status else UNANSWERED] += 1
        self.retries += tries > 1
        self.messages += messages if answer.is_accepted else 0
