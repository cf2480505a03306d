import { type IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { z } from 'zod'
import { type ApiClient, AppError, type FileEntry, type Folder, TUS_CONTENT, TUS_VERSION } from '#manager/contract'
import { type SecretBox } from '../../../secrets/secret-box.ts'
import { originOf } from '../../origin.ts'
import { findFolder } from '../find.ts'
import { Flag, readInput } from '../input.ts'
import { type CompatContext, type CompatRoute } from '../route.ts'
import { tellFiles } from '../tell-folder.ts'
import { type Sender } from '../own-calls.ts'

const Path = z.string().max(8_192)
const MkdirInput = z.object({
  path: z.union([Path, z.array(Path).min(1).max(50)]),
  parents: Flag.default(true),
  exist_ok: Flag.default(false),
})
const RenameInput = z.object({ target_path: Path, new_name: z.string().max(255) })
const MoveInput = z.object({ src: Path, dst: Path })
const DeleteInput = z.object({ files: z.array(Path).min(1).max(100), recursive: Flag.default(false) })
const ListInput = z.object({ path: Path.default('.') })
const UploadInput = z.object({ path: Path, size: z.coerce.number().int().min(0) })
const DownloadInput = z.object({ path: Path.optional(), file: Path.optional(), archive: Flag.optional() })
const TokenQuery = z.object({ token: z.string().max(4_096) })

/** Entries of one directory that an answer has at most. */
const MOST_ENTRIES = 10_000
const PAGE = 1_000
/** A token of an upload is refused after this time; the upload itself expires by its own rules. */
const TOKEN_MS = 24 * 3_600_000
const PURPOSE = 'compat-upload'

/** Content of the sealed token of an upload: who uploads, and which upload of which folder. Rights are asked for with each request. */
const UploadTicket = z.object({
  sender: z.union([
    z.object({ kind: z.literal('keypair'), accessKey: z.string() }),
    z.object({ kind: z.literal('token'), token: z.string() }),
  ]),
  folder: z.string(),
  upload: z.string(),
  size: z.number(),
  until: z.number(),
})
type UploadTicket = z.infer<typeof UploadTicket>

/**
 * Files of folders. Their bytes travel without a signature, by an address with a token.
 *
 * Threat model: whoever has a token can add bytes to one upload, or download what one link of Berth gives; it is not logged. The right to do
 * so is checked by the API, with each request, and ends with the keypair or sign-in that asked for it. A token of an upload is sealed with
 * the key of Berth, so that any manager reads it and nobody else makes one.
 */
export function folderFileRoutes(box: SecretBox): readonly CompatRoute[] {
  return [
    { method: 'GET', path: '/folders/:folder/files', handle: list },
    { method: 'POST', path: '/folders/:folder/mkdir', handle: mkdir },
    { method: 'POST', path: '/folders/:folder/rename_file', handle: renameFile },
    { method: 'POST', path: '/folders/:folder/rename-file', handle: renameFile },
    { method: 'POST', path: '/folders/:folder/move-file', handle: moveFile },
    { method: 'DELETE', path: '/folders/:folder/delete_files', handle: deleteFiles },
    { method: 'DELETE', path: '/folders/:folder/delete-files', handle: deleteFiles },
    { method: 'POST', path: '/folders/:folder/delete-files', handle: deleteFiles },
    { method: 'POST', path: '/folders/:folder/request-upload', handle: context => requestUpload(box, context) },
    { method: 'POST', path: '/folders/:folder/request-download', handle: requestDownload },
    { method: 'HEAD', path: '/storage/upload', open: true, handle: context => forwardUpload(box, context, 'HEAD') },
    { method: 'PATCH', path: '/storage/upload', open: true, handle: context => forwardUpload(box, context, 'PATCH') },
    { method: 'HEAD', path: '/storage/download', open: true, handle: download },
    { method: 'GET', path: '/storage/download', open: true, handle: download },
  ]
}

/** A path as Berth writes it: relative, without `.` and without a slash at the end. */
const plainPath = (path: string): string =>
  path
    .split('/')
    .filter(part => part !== '' && part !== '.')
    .join('/')

const folderOf = ({ api, params }: CompatContext): Promise<Folder> => findFolder(api, params.folder ?? '')

async function list(context: CompatContext): Promise<unknown> {
  const { path } = await readInput(context.request, ListInput)
  const { id } = await folderOf(context)
  const entries: FileEntry[] = []
  let after: string | undefined
  do {
    const query = { path: plainPath(path), limit: PAGE, ...(after === undefined ? {} : { after }) }
    const page = await context.api.listFiles({ params: { id }, query })
    entries.push(...page.items)
    after = page.next ?? undefined
  } while (after !== undefined && entries.length < MOST_ENTRIES)
  return { ...tellFiles(entries), folder_path: path, error_msg: '', errors: '' }
}

async function mkdir(context: CompatContext): Promise<unknown> {
  const { path, parents, exist_ok } = await readInput(context.request, MkdirInput)
  const { id } = await folderOf(context)
  const { success, failed } = await madeDirectories(context.api, {
    id,
    paths: [path].flat(),
    parents: parents || exist_ok,
  })
  const [first] = failed
  // Older clients make one, and look at the status only.
  if (typeof path === 'string' && first) throw first.error
  void context.reply.code(failed.length > 0 && success.length === 0 ? 409 : 201)
  const tell = (item: string) => ({ item, msg: null, status: 201 })
  return {
    results: {
      success: success.map(tell),
      failed: failed.map(({ item, error }) => ({ item, msg: error.message, status: 409 })),
    },
  }
}

async function madeDirectories(
  api: ApiClient,
  { id, paths, parents }: { id: Folder['id']; paths: readonly string[]; parents: boolean },
) {
  const success: string[] = []
  const failed: { item: string; error: Error }[] = []
  for (const item of paths) {
    try {
      await api.makeDirectory({ params: { id }, body: { path: plainPath(item), parents } })
      success.push(item)
    } catch (error) {
      failed.push({ item, error: error as Error })
    }
  }
  return { success, failed }
}

async function renameFile(context: CompatContext): Promise<unknown> {
  const { target_path, new_name } = await readInput(context.request, RenameInput)
  const { id } = await folderOf(context)
  const path = plainPath(target_path)
  const to = path.split('/').slice(0, -1).join('/')
  await context.api.moveFiles({ params: { id }, body: { paths: [path], to, name: new_name } })
  return {}
}

async function moveFile(context: CompatContext): Promise<unknown> {
  const { src, dst } = await readInput(context.request, MoveInput)
  const { id } = await folderOf(context)
  const target = plainPath(dst).split('/')
  const isInto = dst.endsWith('/')
  const to = (isInto ? target : target.slice(0, -1)).join('/')
  const name = isInto ? undefined : target.at(-1)
  await context.api.moveFiles({ params: { id }, body: { paths: [plainPath(src)], to, ...(name ? { name } : {}) } })
  return {}
}

async function deleteFiles(context: CompatContext): Promise<unknown> {
  const { files, recursive } = await readInput(context.request, DeleteInput)
  const { id } = await folderOf(context)
  const paths = files.map(plainPath)
  // Berth deletes directories with their content: who did not ask for that is told before.
  if (!recursive) {
    for (const path of paths) {
      const { kind } = await context.api.getFile({ params: { id }, query: { path } })
      if (kind === 'directory')
        throw new AppError('bad_request', { why: `${path} is a directory. Delete it with --recursive.` })
    }
  }
  await context.api.deleteFiles({ params: { id }, body: { paths } })
  return {}
}

const inBase64 = (text: string): string => Buffer.from(text).toString('base64')

/** An address at this port, as the client reached it. */
function addressOf({ raw }: CompatContext['request'], path: string): string {
  const { https, host } = originOf(raw)
  return `${https ? 'https' : 'http'}://${host}${path}`
}

async function requestUpload(box: SecretBox, context: CompatContext): Promise<unknown> {
  const { sender, request, calls } = context
  const { path, size } = await readInput(request, UploadInput)
  const { id } = await folderOf(context)
  const metadata = { path: plainPath(path), onConflict: 'replace' }
  const answer = await calls.send({
    method: 'POST',
    path: `/api/v1/folders/${id}/uploads`,
    headers: {
      'tus-resumable': TUS_VERSION,
      'upload-length': String(size),
      'upload-metadata': Object.entries(metadata)
        .map(([key, value]) => `${key} ${inBase64(value)}`)
        .join(','),
    },
  })
  answer.resume()
  const upload = answer.headers.location?.split('/').at(-1) ?? ''
  const ticket: UploadTicket = {
    sender: senderIn(sender),
    folder: id,
    upload,
    size,
    until: context.now() + TOKEN_MS,
  }
  const token = Buffer.from(box.seal(JSON.stringify(ticket), PURPOSE)).toString('base64url')
  return { token, url: addressOf(request, '/storage/upload') }
}

function senderIn(sender: Sender): UploadTicket['sender'] {
  if (sender.kind === 'nobody') throw new AppError('not_signed_in')
  return sender
}

/** @throws AppError `upload_not_found` for a token that is none of ours, or too old */
function openTicket(box: SecretBox, token: string, now: number): UploadTicket {
  try {
    const ticket = UploadTicket.parse(JSON.parse(box.open(Buffer.from(token, 'base64url').toString(), PURPOSE)))
    if (ticket.until > now) return ticket
  } catch {
    // Anybody may send any text.
  }
  throw new AppError('upload_not_found')
}

async function forwardUpload(box: SecretBox, context: CompatContext, method: 'HEAD' | 'PATCH'): Promise<undefined> {
  const { request, reply, calls } = context
  const ticket = openTicket(box, tokenOf(context), context.now())
  const path = `/api/v1/folders/${ticket.folder}/uploads/${ticket.upload}`
  const isData = method === 'PATCH' && ticket.size > 0 && request.body instanceof Readable
  if (isData) context.liftDeadline()
  const answer = await calls.as(ticket.sender).send({
    method: isData ? 'PATCH' : 'HEAD',
    path,
    headers: {
      'tus-resumable': TUS_VERSION,
      ...(isData
        ? { 'content-type': TUS_CONTENT, 'upload-offset': request.headers['upload-offset']?.toString() ?? '0' }
        : {}),
    },
    ...(isData ? { body: request.body as Readable } : {}),
  })
  answer.resume()
  await reply
    .code(method === 'HEAD' ? 200 : 204)
    .headers({
      'tus-resumable': TUS_VERSION,
      'upload-offset': answer.headers['upload-offset']?.toString() ?? '0',
      'upload-length': String(ticket.size),
    })
    .send()
}

function tokenOf({ request }: CompatContext): string {
  const query = TokenQuery.safeParse(request.query)
  if (query.success) return query.data.token
  throw new AppError('bad_request', { why: 'The address has no token.' })
}

async function requestDownload(context: CompatContext): Promise<unknown> {
  const { path, file, archive } = await readInput(context.request, DownloadInput)
  const { id } = await folderOf(context)
  const wanted = plainPath(path ?? file ?? '')
  if (archive !== true) {
    const { kind } = await context.api.getFile({ params: { id }, query: { path: wanted } })
    if (kind === 'directory')
      throw new AppError('bad_request', { why: `${wanted || 'The folder'} is a directory: ask for an archive.` })
  }
  const { url } = await context.api.createDownload({ params: { id }, body: { paths: [wanted] } })
  return { token: url.split('/').at(-1), url: addressOf(context.request, '/storage/download') }
}

/** Fields of the answer that a client of a download reads. */
const PASSED = [
  'content-length',
  'content-type',
  'content-range',
  'content-disposition',
  'accept-ranges',
  'etag',
  'last-modified',
]

async function download(context: CompatContext): Promise<undefined> {
  const { request, reply, calls, signal } = context
  const { range, 'if-range': ifRange } = request.headers
  const headers = { ...(range ? { range } : {}), ...(typeof ifRange === 'string' ? { 'if-range': ifRange } : {}) }
  const path = `/api/v1/downloads/${encodeURIComponent(tokenOf(context))}`
  const answer = await calls.send({ method: request.method, path, headers, signal })
  await passOn(answer, reply)
}

/** Sends an answer of the API as it comes, no faster than the client reads it. */
async function passOn(answer: IncomingMessage, reply: CompatContext['reply']): Promise<void> {
  const fields = PASSED.flatMap(name => {
    const value = answer.headers[name]
    return value === undefined ? [] : [[name, value.toString()]]
  })
  reply.hijack()
  const own = Object.fromEntries(Object.entries(reply.getHeaders()).map(([name, value]) => [name, String(value)]))
  reply.raw.writeHead(answer.statusCode ?? 200, { ...own, ...(Object.fromEntries(fields) as Record<string, string>) })
  // A connection that breaks tells the client that the file is not complete.
  await pipeline(answer, reply.raw).catch(() => reply.raw.destroy())
}
