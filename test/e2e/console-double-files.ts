import { createHash } from 'node:crypto'
import { type IncomingMessage, type ServerResponse } from 'node:http'
import { aFolder as aDoubleFolder } from './console-double-folders.ts'
import { AppError, type ErrorCode, type FolderId, type Folder, type Person, type Task } from '#manager/contract'

/** Files of the double's folders: path → content; a directory ends with "/". Answers the file calls of the page. */
export interface DoubleFile {
  content: Buffer
  modifiedAt: string
  version: number
}
export type DoubleFiles = Map<string, DoubleFile> & {
  uploads?: Map<string, DoubleUpload>
  cuts?: number
  /** Number of uploads of which half arrives and which get no answer, as on a dead connection. */
  frozen?: number
  /** Copies that take long. */
  copies?: Task[]
}

/** An upload in progress, with the bytes that have arrived. */
export interface DoubleUpload {
  path: string
  size: number
  bytes: Buffer
  metadata: Record<string, string>
  finished: boolean
  /** Whoever uploads, if it is somebody else. */
  by?: Person
}

export const FOLDER_ID = '01990000-0000-7000-8000-0000000000f1' as FolderId

export const aFolder = (change: Partial<Folder> = {}): Folder =>
  aDoubleFolder(1, { id: FOLDER_ID, name: 'experiments', ...change })

const TIME = '2026-03-02T10:15:00.000Z'
/** @param entries path → text or bytes; paths of directories end with "/" */
export function filesOf(entries: Readonly<Record<string, string | Buffer>>): DoubleFiles {
  return new Map(
    Object.entries(entries).map(([path, content]) => [
      path,
      { content: Buffer.from(content as string), modifiedAt: TIME, version: 1 },
    ]),
  )
}

interface Listed {
  name: string
  kind: 'file' | 'directory'
  size: number
  modifiedAt: string
  etag: string
  executable: boolean
}

const etagOf = (path: string, { version }: DoubleFile) =>
  `"${Buffer.from(path).toString('hex').slice(0, 12)}-${version}"`
const isBelow = (path: string, directory: string) => path.startsWith(directory === '' ? '' : `${directory}/`)

function childrenOf(files: DoubleFiles, directory: string): Listed[] {
  const found = new Map<string, Listed>()
  for (const [path, file] of files) {
    if (!isBelow(path, directory)) continue
    const rest = directory === '' ? path : path.slice(directory.length + 1)
    if (rest === '') continue
    const name = rest.split('/', 1)[0] ?? ''
    const isFile = rest === name
    if (isFile || !found.has(name))
      found.set(name, {
        name,
        kind: isFile ? 'file' : 'directory',
        size: isFile ? file.content.length : 4096,
        modifiedAt: file.modifiedAt,
        etag: etagOf(path, file),
        executable: false,
      })
  }
  return [...found.values()]
}

export interface FileReply {
  /** 0: no answer. */
  readonly status: number
  readonly value?: unknown
  readonly bytes?: Buffer
  readonly headers?: Record<string, string>
}

function fail(code: string, detail: Record<string, unknown> = {}): never {
  throw new AppError(code as ErrorCode, detail)
}

/** Everything at or below a path, as `[path, file]`. */
const treeOf = (files: DoubleFiles, path: string) =>
  [...files].filter(([key]) => key === path || key.startsWith(`${path}/`))

function list(files: DoubleFiles, query: URLSearchParams): FileReply {
  const key = query.get('sort') ?? 'name'
  const sign = query.get('order') === 'desc' ? -1 : 1
  const limit = Number(query.get('limit') ?? 100)
  const start = Number(query.get('after') ?? 0)
  const items = childrenOf(files, query.get('path') ?? '').toSorted((a, b) => {
    if (a.kind !== b.kind) return a.kind === 'directory' ? -1 : 1
    const by = key === 'size' ? a.size - b.size : key === 'modified' ? a.modifiedAt.localeCompare(b.modifiedAt) : 0
    return sign * (by || a.name.localeCompare(b.name, 'en', { numeric: true }))
  })
  const end = start + limit
  return {
    status: 200,
    value: { items: items.slice(start, end), next: end < items.length ? String(end) : null, sorted: true },
  }
}

function move(files: DoubleFiles, body: unknown, isCopy: boolean): FileReply {
  const { paths, to, name, onConflict } = body as {
    paths: string[]
    to: string
    name?: string
    onConflict: 'fail' | 'replace' | 'rename'
  }
  const names = new Set(childrenOf(files, to).map(entry => entry.name))
  const nameFor = (path: string) => name ?? path.slice(path.lastIndexOf('/') + 1)
  for (const path of paths) {
    let target = nameFor(path)
    if (onConflict === 'fail' && names.has(target)) fail('file_exists', { name: target })
    if (onConflict === 'rename')
      for (let n = 2; names.has(target); n++) target = nameFor(path).replace(/(\.\w+)?$/, ` (${n})$1`)
    const destination = to === '' ? target : `${to}/${target}`
    const tree = treeOf(files, path)
    if (tree.length === 0) fail('file_not_found')
    if (onConflict === 'replace') for (const [key] of treeOf(files, destination)) files.delete(key)
    for (const [key, file] of tree) {
      if (!isCopy) files.delete(key)
      files.set(destination + key.slice(path.length), file)
    }
  }
  return { status: 204 }
}

function readContent(files: DoubleFiles, request: IncomingMessage, path: string): FileReply {
  const file = files.get(path)
  if (!file) return fail('file_not_found')
  const range = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? '')
  const etag = etagOf(path, file)
  if (!range) return { status: 200, bytes: file.content, headers: { etag } }
  const start = Number(range[1])
  if (start >= file.content.length)
    return { status: 416, bytes: Buffer.alloc(0), headers: { 'content-range': `bytes */${file.content.length}` } }
  const end = Math.min(file.content.length - 1, range[2] === '' ? Infinity : Number(range[2]))
  return {
    status: 206,
    bytes: file.content.subarray(start, end + 1),
    headers: { etag, 'content-range': `bytes ${start}-${end}/${file.content.length}` },
  }
}

function writeContent(files: DoubleFiles, request: IncomingMessage, path: string, bytes: Buffer): FileReply {
  const file = files.get(path)
  const known = request.headers['if-match']
  if (known === undefined && file) return fail('file_exists')
  if (known !== undefined && (!file || etagOf(path, file) !== known)) return fail('file_changed')
  const written = { content: bytes, modifiedAt: new Date().toISOString(), version: (file?.version ?? 0) + 1 }
  files.set(path, written)
  return { status: 200, value: { etag: etagOf(path, written) } }
}

const metadataOf = (header: string) =>
  Object.fromEntries(
    header
      .split(',')
      .map(pair => pair.split(' '))
      .map(([key = '', value = '']) => [key, Buffer.from(value, 'base64').toString()]),
  )

function finishUpload(
  files: DoubleFiles,
  upload: DoubleUpload,
  { sha256, onConflict }: Record<string, string | undefined>,
) {
  const actual = createHash('sha256').update(upload.bytes).digest('hex')
  if (sha256 !== undefined && sha256 !== actual) fail('file_changed', { why: `expected ${sha256}, got ${actual}` })
  let { path } = upload
  if (files.has(path) && onConflict === 'fail') fail('file_exists', { name: path })
  if (onConflict === 'rename')
    for (let n = 1; files.has(path); n++) path = upload.path.replace(/(\.\w+)?$/, ` (${n})$1`)
  files.set(path, { content: upload.bytes, modifiedAt: new Date().toISOString(), version: 1 })
  upload.finished = true
}

/** The tus protocol, as implemented by the manager. */
function answerUploads(files: DoubleFiles, request: IncomingMessage, url: URL, raw: Buffer): FileReply | undefined {
  const [, id, finish] = /^\/api\/v1\/folders\/[^/]+\/uploads(?:\/([\w-]+)(\/finish)?)?$/.exec(url.pathname) ?? []
  if (!/^\/api\/v1\/folders\/[^/]+\/uploads/.test(url.pathname)) return undefined
  const uploads = (files.uploads ??= new Map())
  const headers = { 'tus-resumable': '1.0.0' }
  if (id === undefined && request.method === 'GET') {
    const ofOthers = url.searchParams.get('others') === 'true'
    const items = [...uploads]
      .filter(([, { by }]) => (by !== undefined) === ofOthers)
      .map(([key, { path, size, bytes, finished, by = null }]) => ({
        id: key,
        path,
        size,
        offset: bytes.length,
        finished,
        by,
      }))
    return { status: 200, value: { items } }
  }
  if (id === undefined) {
    const metadata = metadataOf(String(request.headers['upload-metadata']))
    const path = metadata['path'] ?? ''
    if (metadata['onConflict'] === 'fail' && files.has(path)) fail('file_exists', { name: path })
    const made: DoubleUpload = {
      path,
      size: Number(request.headers['upload-length']),
      bytes: raw,
      metadata,
      finished: false,
    }
    const key = `u${uploads.size + 1}`
    uploads.set(key, made)
    if (made.size === raw.length && metadata['finish'] !== 'later') finishUpload(files, made, metadata)
    const location = `${url.pathname}/${key}`
    return { status: 201, headers: { ...headers, location, 'upload-offset': String(raw.length) } }
  }
  const upload = uploads.get(id)
  if (!upload) return fail('not_found')
  if (finish) {
    finishUpload(files, upload, { ...upload.metadata, ...(JSON.parse(raw.toString()) as Record<string, string>) })
    return { status: 200, value: {} }
  }
  if (request.method === 'DELETE') uploads.delete(id)
  if (request.method === 'PATCH') {
    if (Number(request.headers['upload-offset']) !== upload.bytes.length) fail('unavailable')
    const isCut = (files.cuts ?? 0) > 0
    const isFrozen = (files.frozen ?? 0) > 0
    const isHalf = isCut || isFrozen
    upload.bytes = Buffer.concat([upload.bytes, isHalf ? raw.subarray(0, Math.floor(raw.length / 2)) : raw])
    if (isFrozen) {
      files.frozen = (files.frozen ?? 1) - 1
      return { status: 0 }
    }
    if (isCut) {
      files.cuts = (files.cuts ?? 1) - 1
      request.socket.destroy()
    }
    if (upload.bytes.length === upload.size && upload.metadata['finish'] !== 'later')
      finishUpload(files, upload, upload.metadata)
  }
  const progress = { 'upload-offset': String(upload.bytes.length), 'upload-length': String(upload.size) }
  return { status: request.method === 'HEAD' ? 200 : 204, headers: { ...headers, ...progress } }
}

/** Answers a call below `/api/v1/folders/:id`; undefined if the call is not about files. @throws AppError */
export function answerFiles(
  files: DoubleFiles,
  request: IncomingMessage,
  url: URL,
  raw: Buffer,
): FileReply | undefined {
  const upload = answerUploads(files, request, url, raw)
  if (upload) return upload
  const call = /^\/api\/v1\/folders\/[^/]+\/(\w+)$/.exec(url.pathname)?.[1]
  const path = url.searchParams.get('path') ?? ''
  const body = () => JSON.parse(raw.toString()) as Record<string, unknown>
  const [, cancelled] = /\/copies\/([\w-]+)$/.exec(url.pathname) ?? []
  if (cancelled !== undefined) {
    files.copies = (files.copies ?? []).map(task => (task.id === cancelled ? { ...task, status: 'cancelled' } : task))
    return { status: 202, value: files.copies.find(({ id }) => id === cancelled) }
  }
  switch (`${request.method ?? ''} ${call ?? ''}`) {
    case 'GET copies':
      return { status: 200, value: { items: files.copies ?? [] } }
    case 'GET entries':
      return list(files, url.searchParams)
    case 'POST directories': {
      const { path: made, parents } = body() as { path: string; parents?: boolean }
      if (treeOf(files, made).length > 0 && !parents) fail('file_exists', { name: made })
      files.set(`${made}/`, { content: Buffer.alloc(0), modifiedAt: new Date().toISOString(), version: 1 })
      return { status: 204 }
    }
    case 'POST moves':
      return move(files, body(), false)
    case 'POST copies':
      return move(files, body(), true)
    case 'POST deletions': {
      for (const gone of (body() as { paths: string[] }).paths)
        for (const [key] of treeOf(files, gone)) files.delete(key)
      return { status: 204 }
    }
    case 'GET content':
      return readContent(files, request, path)
    case 'PUT content':
      return writeContent(files, request, path, raw)
    case 'GET search': {
      const text = (url.searchParams.get('text') ?? '').toLowerCase()
      const items = [...files]
        .filter(
          ([key]) => !key.endsWith('/') && isBelow(key, path) && key.split('/').at(-1)?.toLowerCase().includes(text),
        )
        .map(([key, file]) => ({
          path: key,
          name: key.slice(key.lastIndexOf('/') + 1),
          kind: 'file',
          size: file.content.length,
          modifiedAt: file.modifiedAt,
        }))
      return { status: 200, value: { items, next: null } }
    }
    case 'POST downloads': {
      const { paths } = body() as { paths: string[] }
      const query = new URLSearchParams(paths.map(one => ['path', one]))
      return {
        status: 201,
        value: { url: url.pathname.replace('downloads', `ticket?${query.toString()}`), expiresAt: TIME },
      }
    }
    case 'GET ticket': {
      const paths = url.searchParams.getAll('path')
      const file = files.get(path)
      const isOne = paths.length === 1 && file
      const name = isOne ? path.split('/').at(-1) : 'experiments.zip'
      return {
        status: 200,
        bytes: isOne ? file.content : Buffer.from('PK'),
        headers: { 'content-disposition': `attachment; filename="${name ?? ''}"` },
      }
    }
    default:
      return undefined
  }
}

export function sendFileReply(response: ServerResponse, { status, value, bytes, headers = {} }: FileReply): void {
  if (status === 0) return
  if (bytes) response.writeHead(status, { 'content-type': 'application/octet-stream', ...headers }).end(bytes)
  else if (value === undefined) response.writeHead(status, headers).end()
  else response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(value))
}
