import { Duplex } from 'node:stream'
import type Docker from 'dockerode'
import { createDemuxer } from '../docker/demux.ts'
import { type ExecPlace, openExec, type SessionExec, signalExec, startExec } from '../docker/session-exec.ts'

export type Engine = Pick<Docker, 'getContainer'>

const CONNECT_TIMEOUT_MS = 5_000

/** With -d -d, socat logs the state of its TCP side, which is its second address. */
const CONNECTED = /starting data transfer loop/
const SERVICE_ENDED = /socket 2 \(fd \d+\) is at EOF/
/** Each line of socat has its process id in the container. */
const PROCESS = /socat\[(\d+)\]/
/** Kills the process of the first argument if it is a socat, and no other process that got its number. */
const KILL_SOCAT = 'case $(tr "\\0" " " < "/proc/$1/cmdline") in /opt/berth/bin/socat\\ *) kill -KILL "$1" ;; esac'

/** The loopback addresses of a container, in the order in which a service is looked for. */
const LOOPBACK = ['TCP4:127.0.0.1', 'TCP6:[::1]'] as const

/**
 * Connects to a port of a container's loopback, through a socat inside it: to 127.0.0.1, or to ::1 if nothing listens on 127.0.0.1. Where
 * the engine leaves IPv6 on in containers, servers that listen on `localhost` may be at ::1 only.
 *
 * @throws Error when nothing listens there
 */
export async function openRelay(docker: Engine, kernel: ExecPlace, port: number): Promise<Duplex> {
  const [ipv4, ipv6] = LOOPBACK
  try {
    return await relayTo(docker, kernel, `${ipv4}:${port}`)
  } catch (error) {
    if (!String(error).includes('refused')) throw error
    // A service that runs nowhere was refused; a kernel without IPv6 would say something else.
    return await relayTo(docker, kernel, `${ipv6}:${port}`).catch(() => Promise.reject(error as Error))
  }
}

/**
 * A connection through a socat inside a container. It is slower than a direct connection, and when the service ends its direction, ours
 * ends too (an exec has no way to end only its output).
 *
 * When the client is gone before the service has ended, socat is killed. Otherwise it takes the end of its input for the end of one
 * direction, and waits for a day, with a service that writes into a connection that nobody reads.
 *
 * @param address of socat, with the port
 * @throws Error when nothing listens there
 */
async function relayTo(docker: Engine, kernel: ExecPlace, address: string): Promise<Duplex> {
  // cool-write: a service that closes before it has read everything may have answered, so socat reads on after a write failed.
  const target = `${address},nodelay,cool-write`
  const socat = ['/opt/berth/bin/socat', '-d', '-d', '-t', '86400', '-b', '65536', 'STDIO', target]
  const { exec, stream: raw } = await startExec(docker, kernel, socat)
  return new Promise((resolve, reject) => {
    let first = ''
    let said = ''
    let connected = false
    let serviceEnded = false
    const hasEnded = () => serviceEnded || raw.readableEnded
    const stream = new Duplex({
      allowHalfOpen: true,
      read: () => void raw.resume(),
      write(chunk: Buffer, _encoding, done) {
        // A service that has ended reads nothing more. An error here would destroy its answer, which may not have been read yet.
        if (hasEnded()) done()
        else raw.write(chunk, error => done(hasEnded() ? null : error))
      },
      final: done => {
        // The service has ended already, and our direction with it.
        if (raw.writableEnded || raw.destroyed) done()
        else raw.end(done)
      },
      destroy: (error, done) => {
        const isOver = raw.readableEnded
        raw.destroy()
        // A session that ends meanwhile ends its socat, too.
        if (!isOver) killSocat(docker, kernel, exec, PROCESS.exec(first)?.[1]).catch(() => undefined)
        done(error)
      },
    })
    const timer = setTimeout(() => fail('no connection in time'), CONNECT_TIMEOUT_MS)
    const fail = (why: string) => {
      clearTimeout(timer)
      stream.on('error', () => undefined).destroy()
      reject(new Error(`relay: ${why} ${said}`.trim()))
    }
    const push = createDemuxer({
      stdout: chunk => {
        if (!stream.push(chunk)) raw.pause()
      },
      stderr: chunk => {
        first ||= chunk.toString('latin1')
        said = (said + chunk.toString('latin1')).slice(-4096)
        if (CONNECTED.test(said)) {
          clearTimeout(timer)
          connected = true
          resolve(stream)
        }
        if (SERVICE_ENDED.test(said)) {
          serviceEnded = true
          raw.end()
        }
      },
    })
    raw.on('data', push)
    // After an orderly end the stream is not destroyed: a slow reader may not have read everything yet.
    raw.on('end', () => {
      if (connected) stream.push(null)
      else fail('ended')
    })
    raw.on('error', error => {
      if (!hasEnded()) stream.destroy(error)
    })
    raw.on('close', () => {
      if (!raw.readableEnded) stream.destroy()
    })
  })
}

/** @param pid in the container */
async function killSocat(
  docker: Engine,
  kernel: ExecPlace,
  exec: SessionExec['exec'],
  pid: string | undefined,
): Promise<void> {
  const isDone = await signalExec(exec, kernel.containerId, 'SIGKILL').catch(() => false)
  // This process may not send signals to sessions, or the engine is elsewhere.
  if (isDone || pid === undefined) return
  const kill = await openExec(docker, kernel, ['/opt/berth/applets/ash', '-c', KILL_SOCAT, 'relay', pid])
  kill.on('error', () => undefined).resume()
}
