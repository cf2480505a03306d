import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import { createOpenCounts } from '#base/open-counts'
import { AppError, because, isPlainPath, type SessionId, SESSION_HOME } from '#manager/contract'
import { findSession } from '../find.ts'
import { readBytes, readInput } from '../input.ts'
import { readForm } from '../multipart.ts'
import { type CompatContext, type CompatRoute } from '../route.ts'
import { runOrFail } from '../run-command.ts'

const Path = z.string().max(4_096)
const ListInput = z.object({ path: Path.default('.') })
const DownloadInput = z.object({
  files: z.union([Path, z.array(Path).min(1).max(5)]).optional(),
  file: Path.optional(),
})

/** A form holds files of at most a megabyte, and at most this altogether. */
const UPLOAD_BYTES = 20 * 2 ** 20
const DOWNLOAD_BYTES = 32 * 2 ** 20
/** Up- and downloads at a time, of all people and of one: each is in memory as a whole, and a client may send it slowly. */
const MOST_AT_ONCE = 8
const MOST_OF_ONE = 2
/** A piece of a file in one command: in Base64 below the limit for its input, and for its output. */
const PIECE_BYTES = 180 * 1024
const READ_BYTES = 700 * 1024

/**
 * Files in the home of a session. Berth reads and writes them by commands in the session, as the user of the session, so who may not run a
 * command there can do neither, and no path leads out of the container.
 */
export const SESSION_FILE_ROUTES: readonly CompatRoute[] = [
  { method: 'GET', path: '/session/:session/files', handle: list },
  { method: 'POST', path: '/session/:session/upload', handle: upload },
  { method: 'GET', path: '/session/:session/download', handle: download },
  { method: 'POST', path: '/session/:session/download', handle: download },
  { method: 'GET', path: '/session/:session/download_single', handle: downloadOne },
  { method: 'POST', path: '/session/:session/download_single', handle: downloadOne },
]

/** Prints size, time, rights and name of each entry. Works with the tools of GNU and of busybox. */
const LIST = `cd -- "$0" && find . -mindepth 1 -maxdepth 1 -exec stat -c '%s|%Y|%A|%n' {} +`

async function list({ api, params, request }: CompatContext): Promise<unknown> {
  const { path } = await readInput(request, ListInput)
  const { id } = await findSession(api, params.session ?? '')
  const text = await runOrFail(api, id, { command: ['sh', '-c', LIST, path === '' ? '.' : path] })
  const entries = text.split('\n').flatMap(line => {
    const [, size, mtime, mode, name] = /^(\d+)\|(\d+)\|(\S+)\|\.\/(.+)$/.exec(line) ?? []
    return name === undefined
      ? []
      : [{ filename: name, size: Number(size), mtime: Number(mtime), ctime: Number(mtime), mode }]
  })
  return { files: JSON.stringify(entries), folder_path: path, abspath: path, errors: '' }
}

/** Appends a piece of Base64 from standard input to a file, which `>` or `>>` begins or continues. */
const write = (to: '>' | '>>') => `mkdir -p -- "$(dirname -- "$0")" && base64 -d ${to}"$0"`

const inMemory = createOpenCounts()

/** @throws AppError `rate_limited` */
export function takeMemory(userId: string): Disposable {
  const leaveOwn = inMemory.take(userId, MOST_OF_ONE)
  const leave = leaveOwn && inMemory.take('all', MOST_AT_ONCE)
  if (leave)
    return {
      [Symbol.dispose]() {
        leaveOwn()
        leave()
      },
    }
  leaveOwn?.()
  throw new AppError('rate_limited', { ...because('calls_waiting'), retryAfterSeconds: 2 })
}

async function upload({ api, params, request, userId, liftDeadline }: CompatContext): Promise<undefined> {
  const { id } = await findSession(api, params.session ?? '')
  using _ = takeMemory(userId)
  liftDeadline()
  const files = readForm(await readBytes(request, UPLOAD_BYTES), request.headers['content-type'] ?? '')
  for (const { name, bytes } of files) {
    if (!isPlainPath(name))
      throw new AppError('path_invalid', { why: `"${name.slice(0, 100)}" is no path in the home.` })
    const pieces = Math.max(1, Math.ceil(bytes.length / PIECE_BYTES))
    for (let piece = 0; piece < pieces; piece++) {
      const part = bytes.subarray(piece * PIECE_BYTES, (piece + 1) * PIECE_BYTES)
      await runOrFail(api, id, {
        command: ['sh', '-c', write(piece === 0 ? '>' : '>>'), name],
        stdin: part.toString('base64'),
      })
    }
  }
}

/** Answers with one tar file in a form, as clients of the original unpack it. */
async function download(context: CompatContext): Promise<undefined> {
  const { api, params, request, reply, userId } = context
  const { files, file } = await readInput(request, DownloadInput)
  const { id } = await findSession(api, params.session ?? '')
  using _ = takeMemory(userId)
  const tar = await readByTar(context, id, [files ?? file ?? []].flat())
  const boundary = randomUUID()
  const head = `--${boundary}\r\nContent-Type: application/x-tar\r\nContent-Disposition: attachment; filename="download.tar"\r\nContent-Length: ${tar.length}\r\n\r\n`
  const form = Buffer.concat([Buffer.from(head), tar, Buffer.from(`\r\n--${boundary}--\r\n`)])
  await reply.type(`multipart/mixed; boundary=${boundary}`).send(form)
}

async function downloadOne(context: CompatContext): Promise<undefined> {
  const { api, params, request, reply, userId } = context
  const { files, file } = await readInput(request, DownloadInput)
  const { id } = await findSession(api, params.session ?? '')
  const [path] = [file ?? files ?? []].flat()
  if (path === undefined) throw new AppError('bad_request', { why: 'file: name a file.' })
  using _ = takeMemory(userId)
  const bytes = await read(context, id, `cat -- "$1" >"$0"`, [path])
  await reply.type('application/octet-stream').send(bytes)
}

/** Names in the archive are those of the files alone, as clients put them into the directory that they were given. */
const TAR = [
  'out="$0"',
  'for f do',
  '  [ -e "$f" ] || { echo "$f: no such file" >&2; exit 1; }',
  '  set -- "$@" -C "$(cd -- "$(dirname -- "$f")" && pwd)" "./$(basename -- "$f")"',
  '  shift',
  'done',
  'exec tar -cf "$out" "$@"',
].join('\n')

function readByTar(context: CompatContext, id: SessionId, paths: readonly string[]): Promise<Buffer> {
  if (paths.length === 0) throw new AppError('bad_request', { why: 'files: name at most five files.' })
  return read(context, id, TAR, paths)
}

/** Runs a script that writes what is wanted to a file, whose name is `$0`, and reads that file piece by piece. */
async function read(
  { api, lasting }: Pick<CompatContext, 'api' | 'lasting'>,
  id: SessionId,
  script: string,
  words: readonly string[],
): Promise<Buffer> {
  const scratch = `/tmp/.download-${randomUUID()}`
  try {
    await runOrFail(api, id, { command: ['sh', '-c', script, scratch, ...words], workingDirectory: SESSION_HOME })
    const size = Number((await runOrFail(api, id, { command: ['sh', '-c', 'wc -c <"$0"', scratch] })).trim())
    if (size > DOWNLOAD_BYTES)
      throw new AppError('too_many_files', {
        why: `At most ${DOWNLOAD_BYTES / 2 ** 20} MiB come this way: use scp, sftp or a folder.`,
      })
    const pieces: Buffer[] = []
    for (let at = 0; at < size; at += READ_BYTES) {
      const command = [
        'sh',
        '-c',
        'tail -c +"$1" -- "$0" | head -c "$2" | base64',
        scratch,
        String(at + 1),
        String(READ_BYTES),
      ]
      pieces.push(Buffer.from(await runOrFail(api, id, { command }), 'base64'))
    }
    return Buffer.concat(pieces)
  } finally {
    await runOrFail(lasting(), id, { command: ['rm', '-f', '--', scratch] }).catch(() => undefined)
  }
}
