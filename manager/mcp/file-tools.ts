import { z } from 'zod'
import { AppError, FileListQuery, FilePath, FolderId, ROUTES } from '#manager/contract'
import { ofSession } from './output.ts'
import { defineTool, READS, type Tool, type ToolCall } from './tool.ts'

/** Largest number of bytes of a file in one answer. */
const MOST_READ = 256 * 1024
/** Largest number of characters that one call writes: the request of a call, with all else in it, is limited to a megabyte. */
const MOST_WRITTEN = 256 * 1024

const OneFile = z.strictObject({
  folder: FolderId.describe('Id of the folder, as list_folders names it.'),
  path: FilePath.describe('Path in the folder.'),
})
const contentOf = ({ folder, path }: z.output<typeof OneFile>) =>
  `${ROUTES.readFile.path.replace(':id', folder)}?path=${encodeURIComponent(path)}`

/** Tools for files of folders. */
export const FILE_TOOLS: readonly Tool[] = [
  defineTool({
    name: 'list_folders',
    title: 'List folders',
    description: 'Folders that keep files when sessions end, with what the owner of the token may do with their files.',
    scope: 'read',
    hints: READS,
    input: z.strictObject({}),
    async run({ api, signal }) {
      const { items } = await api.listFolders({ signal })
      return { folders: items.map(({ id, name, permission, usable }) => ({ id, name, permission, usable })) }
    },
  }),
  defineTool({
    name: 'list_files',
    title: 'List files of a folder',
    description: 'Entries of one directory of a folder. `next`, unless it is null, goes into `after` of the next call.',
    scope: 'files',
    hints: READS,
    input: OneFile.extend({ path: OneFile.shape.path.default(''), after: FileListQuery.shape.after }),
    async run({ api, signal }, { folder: id, path, after }) {
      const { items, next } = await api.listFiles({ params: { id }, query: { path, after }, signal })
      return ofSession({
        entries: items.map(({ name, kind, size, modifiedAt }) => ({ name, kind, size, modifiedAt })),
        next,
      })
    },
  }),
  defineTool({
    name: 'read_file',
    title: 'Read a file of a folder',
    description: `Up to ${MOST_READ / 1024} KiB of a file from \`offset\` on: as \`text\` if they are UTF-8, else as \`base64\`. The next part begins at \`offset\` + \`bytes\` of the answer. \`size\` is that of the whole file.`,
    scope: 'files',
    hints: READS,
    input: OneFile.extend({
      offset: z.int().min(0).default(0),
      bytes: z
        .int()
        .min(1)
        .max(MOST_READ)
        .default(64 * 1024),
    }),
    async run({ raw, api, signal }, { offset, bytes, ...file }) {
      const { folder: id, path } = file
      const named = await api.getFile({ params: { id }, query: { path }, signal })
      const { size, kind } = named.target ?? named
      if (kind !== 'file')
        throw new AppError('file_kind_refused', { why: 'This is no file: list_files lists a directory.' })
      if (offset >= size) return ofSession({ text: '', offset, size, ended: true })
      const range = { range: `bytes=${offset}-${offset + bytes - 1}` }
      const read = Buffer.from(await (await raw(contentOf(file), { headers: range, signal })).arrayBuffer())
      const content = offset + read.length < size ? withoutCut(read) : read
      const ended = offset + content.length >= size
      return ofSession({ ...asText(content), offset, bytes: content.length, size, ended })
    },
  }),
  defineTool({
    name: 'write_file',
    title: 'Write a file of a folder',
    description: `Makes a text file of at most ${MOST_WRITTEN / 1024} KiB in a folder, or replaces one if \`replace\` is true.`,
    scope: 'files',
    hints: { readOnlyHint: false, destructiveHint: true },
    input: OneFile.extend({ text: z.string().max(MOST_WRITTEN), replace: z.boolean().default(false) }),
    async run(call, { text, replace, ...file }) {
      const condition = replace ? { 'if-match': await tagOf(call, file) } : { 'if-none-match': '*' }
      const headers = { ...condition, 'content-type': 'application/octet-stream' }
      const reply = await call.raw(contentOf(file), { method: 'PUT', headers, body: text, signal: call.signal })
      const { size } = (await reply.json()) as { size: number }
      return { path: file.path, size }
    },
  }),
]

/** @throws AppError `file_not_found`, `file_kind_refused` */
async function tagOf({ api, signal }: ToolCall, { folder: id, path }: z.output<typeof OneFile>): Promise<string> {
  const { etag } = await api.getFile({ params: { id }, query: { path }, signal })
  if (etag === null) throw new AppError('file_kind_refused', { why: 'Only a file can be replaced.' })
  return etag
}

/** Removes a last character of which the part has only the first bytes: with it, the part would not be valid UTF-8. */
function withoutCut(part: Buffer): Buffer {
  // UTF-8 has at most four bytes in a character: its first one says how many, and further ones begin with the bits 10.
  const first = part.findLastIndex(byte => (byte & 0b1100_0000) !== 0b1000_0000)
  const head = part[first] ?? 0
  const length = head >= 0xf0 ? 4 : head >= 0xe0 ? 3 : head >= 0xc0 ? 2 : 1
  const isCut = first > 0 && part.length - first < length
  return isCut ? part.subarray(0, first) : part
}

function asText(content: Buffer): { readonly text: string } | { readonly base64: string } {
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(content)
    return text.includes('\0') ? { base64: content.toString('base64') } : { text }
  } catch {
    return { base64: content.toString('base64') }
  }
}
