import { readFile } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { type Duplex } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import type Docker from 'dockerode'
import { createOpenCounts } from '#base/open-counts'
import { createSemaphore } from '#base/semaphore'
import { AppError, because } from '#manager/contract'

/** A container, and the user of its session (`uid:gid`). */
export interface ExecPlace {
  readonly containerId: string
  readonly user: string
}

export interface SessionExec {
  readonly exec: Docker.Exec
  /** Input of the program, and its output in the form that `createDemuxer` splits. */
  readonly stream: Duplex
}

/** Execs that the engine starts at a time: it takes a tenth of a second of a processor for each, outside of every session's limits. */
export const AT_ONCE = Math.max(16, 2 * availableParallelism())
/** Largest part of these for one container. */
const MOST_OF_ONE = AT_ONCE / 2
/** Execs of one container that start or wait for it: more than a person has terminals. Who comes then is refused. */
export const MOST_WAITING = 256
/** Pauses between looks at whether an exec has started. After the last one it counts as started. */
const LOOKS_MS = [20, 40, 80, 160, 320, 640, 1_280, 2_560]
/** A turn is over after this time even if the engine has not answered: a container on which it hangs keeps no other one waiting for longer. */
export const LONGEST_TURN_MS = 10_000

const turns = createSemaphore(AT_ONCE)
const waiting = createOpenCounts()

/**
 * Starts an exec of a person, in turns between containers: two hundred terminals that one person opens at a time do not keep others from a
 * shell.
 *
 * @throws errors of the engine; AppError `commands_at_most` if too many execs of this container wait
 */
export async function startInTurn(
  docker: Pick<Docker, 'getContainer'>,
  containerId: string,
  options: Docker.ExecCreateOptions & { readonly Tty: boolean },
): Promise<SessionExec> {
  const leave = waiting.take(containerId, MOST_WAITING)
  if (!leave) throw tooMany()
  try {
    const giveBack = await takeTurn(containerId)
    try {
      const exec = await docker.getContainer(containerId).exec(options)
      const stream = await exec.start({ hijack: true, stdin: true, Tty: options.Tty })
      // The engine answers before the program runs.
      void untilStarted(exec)
        .catch(() => undefined)
        .finally(giveBack)
      return { exec, stream }
    } catch (error) {
      giveBack()
      throw error
    }
  } finally {
    leave()
  }
}

const tooMany = () => new AppError('commands_at_most', because('programs_wait_in_session', { limit: MOST_WAITING }))

/** For programs that are promised now and started later. @throws AppError `commands_at_most` if too many execs of this container wait */
export function requireRoom(containerId: string): void {
  const leave = waiting.take(containerId, MOST_WAITING)
  if (!leave) throw tooMany()
  leave()
}

/** Waits for a turn. @returns ends it */
async function takeTurn(containerId: string): Promise<() => void> {
  const giveBack = await turns.take(containerId, { most: MOST_OF_ONE })
  const late = setTimeout(giveBack, LONGEST_TURN_MS)
  late.unref()
  return () => {
    clearTimeout(late)
    giveBack()
  }
}

async function untilStarted(exec: Pick<Docker.Exec, 'inspect'>): Promise<void> {
  for (const pause of LOOKS_MS) {
    await delay(pause, undefined, { ref: false })
    const { Pid, ExitCode } = await exec.inspect()
    if (Pid !== 0 || ExitCode !== null) return
  }
}

/**
 * Starts a program in a container as the user of its session, without a terminal.
 *
 * @param variables `NAME=value`, beside those of the container
 * @throws as `startInTurn`
 */
export async function startExec(
  docker: Pick<Docker, 'getContainer'>,
  { containerId, user }: ExecPlace,
  command: readonly string[],
  variables: readonly string[] = [],
): Promise<SessionExec> {
  return await startInTurn(docker, containerId, {
    Cmd: [...command],
    // The image's loader settings are meant for the image's own programs; berth-shell restores them.
    Env: ['LD_LIBRARY_PATH=', 'LD_PRELOAD=', ...variables],
    User: user,
    WorkingDir: '/',
    AttachStdin: true,
    AttachStdout: true,
    AttachStderr: true,
    Tty: false,
  })
}

/** `startExec` for programs that need no signal. */
export async function openExec(...input: Parameters<typeof startExec>): Promise<Duplex> {
  return (await startExec(...input)).stream
}

/**
 * Sends a signal to the process of an exec: the engine leaves it running when its connection ends.
 *
 * @returns false if this computer has no such process in the container: it has ended, or the engine is elsewhere
 * @throws errors of the engine; Error if this process may not send it
 */
export async function signalExec(
  exec: Pick<Docker.Exec, 'inspect'>,
  containerId: string,
  signal: NodeJS.Signals,
): Promise<boolean> {
  // An engine may say that an exec does not run as soon as its connection has ended.
  const { Pid } = await exec.inspect()
  if (!Pid) return false
  // Signal only a process of that container: with an engine elsewhere, the number means another process here.
  const cgroups = await readFile(`/proc/${Pid}/cgroup`, 'utf8').catch(() => '')
  if (!cgroups.includes(containerId)) return false
  process.kill(Pid, signal)
  return true
}
