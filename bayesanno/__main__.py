"""The command as `python -m bayesanno`."""

from bayesanno.cli.app import main

if __name__ == "__main__":
    main()
