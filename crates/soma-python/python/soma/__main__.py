"""The program `soma`, as `python -m soma`."""

from soma_program import main

if __name__ == "__main__":
    main()
