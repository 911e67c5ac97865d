"""The declarations of all messages, one file per subject; `headrace.wire.apis` lists them."""
