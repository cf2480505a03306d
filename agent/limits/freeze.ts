import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { readKernelText } from '../read-kernel-text.ts'
import { cgroupPaths } from '../stats/cgroup.ts'

/** Time for all processes to stop; one that waits for a disk stops late. */
const STOP_MS = 1_000
const LOOK_MS = 10

/** File that stops and continues a control group, and the text that says that all of its processes have stopped. */
export interface Switch {
  readonly file: string
  readonly on: string
  readonly off: string
  readonly isOn: () => boolean
}

/**
 * Stops all processes of a container, so that nothing changes its files, until the result is disposed of. If this process ends before, a
 * helper lets them continue; if both are killed, the next agent does (`thawAbandoned`). A container that somebody else has stopped stays so.
 *
 * @returns undefined if the container is not on this host, or its processes do not stop in time: they go on
 * @see https://docs.kernel.org/admin-guide/cgroup-v1/freezer-subsystem.html, and `cgroup.freeze` in cgroup-v2.html
 */
export async function freeze(pid: number, containerId: string): Promise<AsyncDisposable | undefined> {
  const found = findSwitch(pid, containerId)
  return found && (await freezeBy(found))
}

/** Same as `freeze`, by a switch that was found. @param stopMs time for all processes to stop */
export async function freezeBy(found: Switch, stopMs = STOP_MS): Promise<AsyncDisposable | undefined> {
  if (found.isOn()) return { [Symbol.asyncDispose]: () => Promise.resolve() }
  const helper = spawn('sh', ['-c', 'read -r _; printf %s "$1" > "$2"', 'thaw', found.off, found.file], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  })
  const ended = once(helper, 'exit')
  const thaw = async () => {
    helper.stdin.end()
    await ended
  }
  try {
    await once(helper, 'spawn')
    await writeFile(found.file, found.on)
    for (let waitedMs = 0; !found.isOn(); waitedMs += LOOK_MS) {
      if (waitedMs >= stopMs) throw new Error('The processes did not stop.')
      await delay(LOOK_MS)
    }
    return { [Symbol.asyncDispose]: thaw }
  } catch {
    await thaw().catch(() => undefined) // the helper could not be started, and then nothing was stopped
    return undefined
  }
}

/**
 * Lets a container continue that an agent has stopped, if the agent and its helper were killed together before they could. Only for the
 * start of an agent, which has stopped nothing yet.
 *
 * @param isPaused whether somebody has paused it by the engine, which uses the same switch; asked only for a container that was told to stop
 * @returns whether it was stopped, and now continues
 */
export async function thawAbandoned(
  { pid, id }: { readonly pid: number; readonly id: string },
  isPaused: () => Promise<boolean>,
): Promise<boolean> {
  const found = findSwitch(pid, id)
  return found !== undefined && (await thawBy(found, isPaused))
}

/** Same as `thawAbandoned`, by a switch that was found. */
export async function thawBy(found: Switch, isPaused: () => Promise<boolean>): Promise<boolean> {
  // Not `isOn`: one that was told to stop may not have done so yet.
  if (readKernelText(found.file).trim() === found.off || (await isPaused())) return false
  await writeFile(found.file, found.off)
  return true
}

function findSwitch(pid: number, containerId: string): Switch | undefined {
  const found = pid === 0 ? undefined : switchOf(readKernelText(`/proc/${pid}/cgroup`), containerId)
  return found && existsSync(found.file) ? found : undefined
}

/** @param text of /proc/PID/cgroup */
export function switchOf(text: string, containerId: string): Switch | undefined {
  const paths = cgroupPaths(text, containerId)
  if (!paths) return undefined
  if (paths.version === 2) return unifiedSwitch(paths.unified)
  const path = /^\d+:freezer:(\/.*)$/m.exec(text)?.[1]
  if (path?.includes(containerId) !== true) return undefined
  const file = `/sys/fs/cgroup/freezer${path}/freezer.state`
  return { file, on: 'FROZEN', off: 'THAWED', isOn: () => readKernelText(file).trim() === 'FROZEN' }
}

/** Switch of a control group of version 2, with the groups below it. @param directory of the group */
export function unifiedSwitch(directory: string): Switch {
  const isOn = () => /^frozen 1$/m.test(readKernelText(`${directory}/cgroup.events`))
  return { file: `${directory}/cgroup.freeze`, on: '1', off: '0', isOn }
}
