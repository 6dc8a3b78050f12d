import subprocess
import sys


def test_the_launcher_imports_no_framework() -> None:
    # They take seconds, on every host, before the first line is logged.
    program = (
        "import sys, training.launch; "
        "print([name for name in ('torch', 'tensorflow', 'numpy', 'boto3') if name in sys.modules])"
    )
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "[]"
