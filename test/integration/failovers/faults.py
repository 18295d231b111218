"""What happens to a set. Each function is given the scene (run.py) and the primary, and leaves all members running, and hearing each other."""
import os
import signal
import time

from replica_set_support import appear, vanish
from support import SLOWNESS, eventually

from .history import DISK_IS_FULL

# Writes that wait at a frozen primary for the moment when it goes on, or come to one that nobody hears. It may take them before it hears that another one leads.
STRAYS = 8
WHOLE_DISK, USUAL_RESERVE = 1 << 30, -1  # megabytes that are kept free


def kill(scene, primary):
    """The primary's machine dies, and comes back when the others go on."""
    primary.kill()
    scene.await_successor(primary)
    scene.await_writers()
    primary.start()


def kill_and_return(scene, primary):
    """The primary's process dies and is started again at once, maybe before the others have elected another one."""
    primary.kill()
    primary.start()


def terminate(scene, primary):
    """The primary is stopped in order."""
    code = primary.stop()
    if code != 0:
        raise AssertionError(f"{primary.name} ended with {code} when it was stopped:\n{primary.log_tail()}")
    scene.await_successor(primary)
    scene.await_writers()
    primary.start()


def step_down(scene, primary):
    """An operator asks the primary to step down. It stands again soon: the next failover may leave nobody else."""
    reply = primary.ask({"replSetStepDown": int(2 * SLOWNESS), "secondaryCatchUpPeriodSecs": int(2 * SLOWNESS)})
    if not reply or reply["ok"] != 1:
        raise AssertionError(f"{primary.name} did not step down: {reply}")
    scene.await_successor(primary)


def freeze(scene, primary):
    """The primary stands still, and goes on when another one leads and writes: what it takes before it hears of that is rolled back."""
    rollbacks = primary.ask("replSetGetRBID")["rbid"]
    connections = [primary.raw(60) for _ in range(STRAYS)]
    begun = time.monotonic()
    os.kill(primary.process.pid, signal.SIGSTOP)
    try:
        for number, connection in enumerate(connections):
            scene.send_stray(connection, number)
        scene.await_successor(primary)
        scene.fault.held = time.monotonic() - begun
        scene.mark()  # a majority goes on without the frozen one
    finally:
        os.kill(primary.process.pid, signal.SIGCONT)
    await_rollback(scene, primary, rollbacks, taken_by(connections))


def taken_by(connections):
    """How many of the writes that were sent over these, one over each, were taken."""
    taken = 0
    for connection in connections:
        with connection:
            reply = connection.reply()
            taken += reply is not None and reply.body.get("n", 0)
    return taken


def await_rollback(scene, old, rollbacks, taken):
    scene.await_follower(old)
    scene.fault.rolled_back = old.ask("replSetGetRBID")["rbid"] > rollbacks
    if taken and not scene.fault.rolled_back:
        raise AssertionError(f"{old.name} took {taken} writes that nobody else has, and did not roll back:\n{old.log_tail(40)}")


def kill_secondary(scene, primary):
    """A secondary's machine dies, and comes back when the others have gone on: the primary stays."""
    victim = scene.group.others(primary)[scene.fault.number % 2]
    victim.kill()
    scene.await_writers()
    scene.mark()
    victim.start()
    scene.await_follower(victim)
    if not primary.is_primary():
        raise AssertionError(f"{primary.name} does not lead any more because a secondary died:\n{primary.log_tail(40)}")


def kill_secondary_and_primary(scene, primary):
    """A secondary dies, the others go on, then the primary dies. The secondary comes back first: it lacks what was acknowledged meanwhile, and must not lead
    but with that."""
    rest = scene.group.others(primary)
    victim = rest.pop(scene.fault.number % 2)
    victim.kill()
    scene.await_writers()
    scene.mark()
    primary.kill()
    begun = time.monotonic()
    victim.start()
    scene.await_successor(primary)
    scene.fault.held = time.monotonic() - begun
    scene.await_writers()
    primary.start()


def full_secondary(scene, primary):
    """A secondary has no room on its disk: it takes part in elections and applies nothing. The others go on, then the primary dies. The third member alone
    has what was acknowledged meanwhile: it has to lead, and a majority is back with the old primary. At last there is room again."""
    full, other = roles_of_secondaries(scene, primary)
    scene.fault.errors = DISK_IS_FULL
    reserve_disk(full, WHOLE_DISK)
    try:
        if not eventually(lambda: full.phases("replication/applier") == ["full"], 30):
            raise AssertionError(f"{full.name} does not wait for room:\n{full.log_tail(40)}")
        scene.await_writers()
        scene.mark()
        primary.kill()
        begun = time.monotonic()
        if not eventually(other.is_primary, 30):
            raise AssertionError(f"{other.name} does not lead, which alone has everything:\n{other.log_tail(20)}\n{full.log_tail(20)}")
        primary.start()
        if not eventually(lambda: primary.hello().get("secondary"), 60):
            raise AssertionError(f"{primary.name} does not follow:\n{primary.log_tail(40)}")
        scene.fault.held = time.monotonic() - begun  # until then no majority could acknowledge
        scene.await_writers()
        scene.mark()
    finally:
        reserve_disk(full, USUAL_RESERVE)


def roles_of_secondaries(scene, primary):
    """The one that is to be full, and the other one, which must not fetch from it: it would look for another source only when that lags by
    maxSyncSourceLagSecs."""
    rest = scene.group.others(primary)
    full = rest.pop(scene.fault.number % 2)
    other, = rest
    return (other, full) if other.status()["syncSourceHost"] == full.name else (full, other)


def reserve_disk(member, megabytes):
    member.command("setParameter", diskSpaceReserveMB=megabytes)


def silence(scene, primary, is_heard, hears):
    """What members say to each other vanishes without a word, though clients reach them all."""
    rollbacks = primary.ask("replSetGetRBID")["rbid"]
    begun = time.monotonic()
    connections = []
    try:
        for other in scene.group.others(primary):
            if not is_heard:
                vanish(primary, other)
            if not hears:
                vanish(other, primary)
        if not is_heard:  # a write that the others may hear of may last
            connections = [primary.raw(60) for _ in range(STRAYS)]
            for number, connection in enumerate(connections):
                scene.send_stray(connection, number)
        scene.await_successor(primary)
        scene.fault.held = time.monotonic() - begun
        scene.await_writers()
        scene.mark()
        scene.await_end_of(primary)
    finally:
        appear(scene.group.members)
    await_rollback(scene, primary, rollbacks, taken_by(connections))


def black_hole(scene, primary):
    """The primary and the others do not hear each other."""
    silence(scene, primary, is_heard=False, hears=False)


def mute(scene, primary):
    """The primary hears the others, and they do not hear it."""
    silence(scene, primary, is_heard=False, hears=True)


def deaf(scene, primary):
    """The others hear the primary, and it does not hear them."""
    silence(scene, primary, is_heard=True, hears=False)


# In this order, time and again.
KINDS = {"kill": kill, "freeze": freeze, "step down": step_down, "black hole": black_hole, "terminate": terminate, "kill secondary": kill_secondary,
         "kill and return": kill_and_return, "mute": mute, "kill both": kill_secondary_and_primary, "deaf": deaf,
         "full secondary": full_secondary}
