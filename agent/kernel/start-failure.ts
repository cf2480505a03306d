import { AppError, because } from '#manager/contract'
import { engineMessage, fromEngine, statusOf } from '../docker/engine-client.ts'

/** A container's folder on the host, in messages of the engine and its runtime: `/var/lib/docker/overlay2/<64 hex>/merged`. */
const ROOT_ON_HOST = /(\/[^\s/:"']+)+\/(merged|rootfs|mnt)(?=\/)/g
/** Mount points of Berth in a container; none is below another. */
const MOUNTED = [
  '/home/work',
  '/etc/passwd',
  '/etc/group',
  '/etc/shells',
  '/etc/profile.d',
  '/etc/ssh',
  '/run/berth',
  '/opt/berth',
  '/dev/pts',
]
/** Characters of a message of the engine that are read: an image puts commands of any length into it. */
const LONGEST_TEXT = 4_000
const IN_THE_WAY = /not a directory|is a directory|mount a directory onto a file|file exists/i

/**
 * Converts an error of `docker start` to a sentence for users. The engine gives no codes, only the runtime's text; host paths
 * are removed from it.
 */
export function startFailure(error: unknown): AppError {
  const plain = fromEngine(error, 'kernel_create_failed')
  if (plain.code !== 'kernel_create_failed' || statusOf(error) === undefined) return plain
  const text = engineMessage(error).slice(0, LONGEST_TEXT).replaceAll(ROOT_ON_HOST, '')
  const target = IN_THE_WAY.test(text) ? MOUNTED.find(path => text.includes(path)) : undefined
  const why =
    target === undefined ? because('docker_not_started', { text }) : because('image_does_not_fit', { path: target })
  return new AppError('kernel_create_failed', why, { cause: error })
}
