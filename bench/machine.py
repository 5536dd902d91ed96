"""What machine it is that measures, and how much of it others took meanwhile."""

import os
import pathlib
import subprocess
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
COMPILED_IN = {"seedance": "build/release", "ggml": ".deps/llama-build"}
GOVERNOR = pathlib.Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
TICKS = os.sysconf("SC_CLK_TCK")


def field(text, name, separator=":"):
    """Of lines such as 'name : value'."""
    for line in text.splitlines():
        if line.startswith(name) and separator in line:
            return line.split(separator, 1)[1].strip()
    return None


def first_line(*command):
    try:
        done = subprocess.run(command, check=True, capture_output=True, text=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return next(iter((done.stdout or done.stderr).splitlines()), None)


def compiler(build):
    """That of a build directory."""
    cache = ROOT / build / "CMakeCache.txt"
    path = field(cache.read_text(), "CMAKE_CXX_COMPILER:", "=") if cache.exists() else None
    return path and first_line(path, "--version")


def description():
    """To be asked for before the first measurement, as that is a load itself."""
    return {
        "cpu": field(pathlib.Path("/proc/cpuinfo").read_text(), "model name") or os.uname().machine,
        "cores": os.cpu_count(),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "kernel": f"Linux {os.uname().release}",
        "governor": GOVERNOR.read_text().strip() if GOVERNOR.exists() else "not to be read",
        "compilers": {name: compiler(build) for name, build in COMPILED_IN.items()},
        "load_before": os.getloadavg()[0],
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }


def sentence(machine):
    compilers = "; ".join(f"{name} by {which}" for name, which in machine["compilers"].items())
    return (f"{machine['time']}: {machine['cpu']}, {machine['cores']} cores, "
            f"{machine['memory_gib']:.0f} GiB, {machine['kernel']}, frequency governor "
            f"{machine['governor']}; load before the start {machine['load_before']:.2f}; "
            f"{compilers}")


def busy_ticks(stat):
    """Of all CPUs, from the text of /proc/stat: all but idle and waiting for the disk. What a
    hypervisor gave to others counts; what guests took is in the first two already."""
    user, nice, system, _, _, irq, softirq, steal = map(int, stat.split("\n", 1)[0].split()[1:9])
    return user + nice + system + irq + softirq + steal


class Watch:
    """How much of the CPUs others took since it was made: all but this process and those that it
    started and that have ended."""

    def __init__(self):
        self.begin = self.now()

    @staticmethod
    def now():
        times = os.times()
        own = times.user + times.system + times.children_user + times.children_system
        stat = pathlib.Path("/proc/stat").read_text(encoding="ascii")
        return busy_ticks(stat) / TICKS, own, times.elapsed

    def others(self):
        busy, own, elapsed = (end - begin for begin, end in zip(self.begin, self.now()))
        return max(0.0, busy - own) / max(elapsed, 0.01) / os.cpu_count()


def resident_kb(pid):
    status = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    resident = field(status, "VmRSS")
    if resident is None:
        raise RuntimeError(f"process {pid} has no VmRSS")
    return int(resident.split()[0])


def children(pid):
    """Of the thread that started the process."""
    listed = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii")
    return [int(child) for child in listed.split()]
