"""What makes a set fail over. Each function is given the scene (run.py) and the primary, and leaves all members running."""
import os
import signal
import time

from support import SLOWNESS

# Writes that wait at a frozen primary for the moment when it goes on. It may take them before it hears that another one leads.
STRAYS = 8


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
    taken = 0
    for connection in connections:
        with connection:
            reply = connection.reply()
            taken += reply is not None and reply.body.get("n", 0)
    scene.await_follower(primary)
    scene.fault.rolled_back = primary.ask("replSetGetRBID")["rbid"] > rollbacks
    if taken and not scene.fault.rolled_back:
        raise AssertionError(f"{primary.name} took {taken} writes after another one led, and did not roll back:\n{primary.log_tail(40)}")


# In this order, time and again.
KINDS = {"kill": kill, "freeze": freeze, "step down": step_down, "terminate": terminate, "kill and return": kill_and_return}
