import { PassThrough } from 'node:stream'
import { basename, dirname } from 'node:path/posix'
import { AppError } from '#manager/contract'
import { connectCommand } from '#proxy/connect-app'
import { type Connection } from '../config/connect.ts'
import { carryCommand } from './attached-command.ts'
import { unpack } from './unpack.ts'

/** The tar of the toolbox, so that the image needs none. */
const TAR = ['/opt/berth/bin/busybox', 'tar', '-c', '-f', '-'] as const

/**
 * Fetches a file or a directory of a session into a directory of this computer.
 *
 * @param path absolute, or below the home of the session
 * @returns how many things were left out that are neither files nor directories
 * @throws AppError `file_not_found` with what tar says; those of `unpack`
 */
export async function fetchPath(
  { api, endpoint, credentials }: Connection,
  { sessionId, path, directory }: { readonly sessionId: string; readonly path: string; readonly directory: string },
): Promise<number> {
  const name = nameOf(path)
  const command = [...TAR, '-C', dirname(path), '--', name]
  const { id: commandId } = await api.runCommand({ params: { id: sessionId }, body: { command, attached: true } })
  const wire = await connectCommand({ managerUrl: endpoint, credentials, sessionId, commandId })
  const [stdout, stderr] = [new PassThrough(), new PassThrough()]
  let said = ''
  stderr.on('data', (chunk: Buffer) => (said = (said + chunk.toString()).slice(-1_000)))
  const unpacking = unpack(stdout, directory, name)
  // A failure here ends the command by its closed output.
  unpacking.catch(() => stdout.destroy())
  const end = await carryCommand(wire, { stdin: undefined, stdout, stderr }).ended
  if (end !== 'reader_gone' && end.exitCode !== 0)
    stdout.destroy(new AppError('file_not_found', { why: `"${path}" was not fetched: ${said.trim()}` }))
  else stdout.end()
  return await unpacking
}

/** Last name of a path. @throws AppError `bad_request` for one that has none */
export function nameOf(path: string): string {
  const name = basename(path)
  if (name !== '' && name !== '.' && name !== '..') return name
  throw new AppError('bad_request', { why: `"${path}" does not end with the name of a file or directory.` })
}
