"""`headrace gateway` that looks for new partitions every second.

python looking_gateway.py gateway --bootstrap …
"""

if __name__ == "__main__":
    from headrace.gateway.push import hub

    hub.HUB_LOOK_SECONDS = 1.0

    from headrace.cli import main

    main()
