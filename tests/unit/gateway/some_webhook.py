"""A webhook as it is kept."""

from headrace.gateway.webhooks.retry import RetryPolicy
from headrace.gateway.webhooks.subscription import Subscription


def hook(id: str) -> Subscription:
    return Subscription(
        id=id,
        topic="orders",
        group=f"webhook.{id}",
        callback_url="https://example.com/",
        secret="whsec_c2VjcmV0",
        dead_letter_topic="dead",
        messages_max=1,
        timeout_ms=1000,
        retry=RetryPolicy(),
        state="active",
        created_ms=1,
        redrive_until={},
    )
