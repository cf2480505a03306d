import { spawn } from 'node:child_process'
import { type Socket } from 'node:dgram'
import { once } from 'node:events'
import { open } from 'node:fs/promises'
import { setImmediate } from 'node:timers/promises'
import { type SessionUser } from '../docker/container-config.ts'

const WITHIN_MS = 10_000
/** Turns of the event loop in which a message that is there already is read. */
const TURNS = 10

/** Sends a descriptor over a Unix socket. Node tells when that has been tried, and not whether the kernel refused. */
const SEND = `
const socket = require('node:dgram').createSocket('udp4')
socket.bind(0, '127.0.0.1', () => process.send('sent', socket, () => process.stdout.write('tried')))
`

/**
 * Whether a user has more than so many descriptors in flight. The kernel shows this number nowhere, but compares it with the limit of open
 * files of whoever sends one more: so a process with that limit tries.
 *
 * Threat model: the process runs as the user of sessions, with an empty environment, and takes no input. That user may not pass through
 * the directories above Node's program, so this file opens the program for it.
 *
 * @param limit number of descriptors, at least 256: the process itself has some open
 * @returns false also where the process cannot be started
 */
export async function hasMoreInFlight(limit: number, user: SessionUser): Promise<boolean> {
  await using program = await open(process.execPath)
  // A limit above the agent's own cannot be set. The agent's own is then the one that is compared.
  const child = spawn('/bin/sh', ['-c', `ulimit -n ${limit} || :; exec /proc/self/fd/4 -e "$0"`, SEND], {
    stdio: ['ignore', 'pipe', 'ignore', 'ipc', program.fd],
    cwd: '/',
    env: {},
    timeout: WITHIN_MS,
    killSignal: 'SIGKILL',
    ...(process.getuid?.() === 0 ? user : {}),
  })
  const { stdout } = child
  if (!stdout) throw new Error('a process without output')
  const gone = once(child, 'exit').catch(() => undefined)
  const arrived: unknown[] = []
  child.on('message', (message, received) => {
    arrived.push(message)
    ;(received as Socket | undefined)?.close()
  })
  try {
    const hasTried = await Promise.race([once(stdout, 'data').then(() => true), gone.then(() => false)])
    // The message was sent before, on another socket: if there is one, it can be read now.
    for (let turn = 0; turn < TURNS && arrived.length === 0; turn++) await setImmediate()
    return hasTried && arrived.length === 0
  } finally {
    child.kill('SIGKILL')
    await gone
  }
}
