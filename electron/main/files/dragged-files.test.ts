import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { type Item } from 'electron'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { AppError, type FolderId, toProblem } from '#manager/contract'
import { nativeImage } from '../../../test/fixtures/electron-stub.ts'
import { createDraggedFiles, namesHere } from './dragged-files.ts'

const FOLDER = '01900000-0000-7000-8000-0000000000f1' as FolderId
const aFile = (...paths: string[]) => ({ folderId: FOLDER, paths })
let dir: string
let dragged: Item[]
const page = { startDrag: (item: Item) => void dragged.push(item) }

beforeEach(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'berth-test-dragged-'))
  dragged = []
})
afterEach(() => rm(dir, { recursive: true }))

/** @param answer for the requested path */
function filesOf(answer: (asked: string, init?: RequestInit) => Response | Promise<Response>, mostBytes = 2 ** 20) {
  const account = {
    endpoint: 'https://berth.example',
    headers: () => Promise.resolve({ authorization: 'Bearer token' }),
  }
  return createDraggedFiles({
    account: () => Promise.resolve(account as never),
    fetch: (url, init) => Promise.resolve(answer(new URL(String(url)).searchParams.get('path') ?? '', init)),
    folder: path.join(dir, 'dragged'),
    icon: nativeImage.createFromDataURL(''),
    mostBytes,
  })
}

test('files are fetched with the sign-in into files of their user only, and go with the drag side by side', async () => {
  const files = filesOf((asked, init) => {
    expect(new Headers(init?.headers).get('authorization')).toBe('Bearer token')
    return new Response(`content of ${asked}`)
  })
  const id = await files.fetch(aFile('data/a.csv', 'data/b.csv'))
  files.start(page, id)
  const [{ files: paths = [], file } = {} as Item] = dragged
  expect(paths.map(one => path.basename(one))).toEqual(['a.csv', 'b.csv'])
  expect(file).toBe(paths[0])
  expect(await readFile(paths[1]!, 'utf8')).toBe('content of data/b.csv')
  expect((await stat(paths[0]!)).mode & 0o777).toBe(0o600)
  expect((await stat(path.dirname(paths[0]!))).mode & 0o777).toBe(0o700)
})

test('what the manager says of a file is told, and nothing stays of a fetch that failed', async () => {
  const refusal = Response.json(toProblem(new AppError('file_not_found')), { status: 404 })
  const files = filesOf(asked => (asked === 'gone' ? refusal : new Response('x')))
  await expect(files.fetch(aFile('there', 'gone'))).rejects.toMatchObject({ code: 'file_not_found' })
  expect(await readdir(path.join(dir, 'dragged'))).toEqual([])
})

test('a file that has grown beyond the limit is given up', async () => {
  let sent = 0
  const endless = () =>
    new Response(
      new ReadableStream({
        pull(stream) {
          sent++
          stream.enqueue(new Uint8Array(2 ** 10))
        },
      }),
    )
  await expect(filesOf(endless, 2 ** 16).fetch(aFile('large'))).rejects.toMatchObject({ code: 'body_too_large' })
  expect(sent).toBeLessThan(1_000)
  expect(await readdir(path.join(dir, 'dragged'))).toEqual([])
})

test('copies of the last three drags stay, and none after a sign-out, which also ends a fetch', async () => {
  const begun = Promise.withResolvers<null>()
  const files = filesOf((asked, init) => {
    if (asked !== 'slow') return new Response('x')
    begun.resolve(null)
    return new Promise((_, reject) => init?.signal?.addEventListener('abort', () => reject(new Error('aborted'))))
  })
  const ids: string[] = []
  for (const name of ['a', 'b', 'c', 'd']) ids.push(await files.fetch(aFile(name)))
  expect(() => files.start(page, ids[0]!)).toThrow(expect.objectContaining({ code: 'not_found' }))
  files.start(page, ids[1]!)
  const slow = files.fetch(aFile('slow'))
  const ended = expect(slow).rejects.toMatchObject({ code: 'not_signed_in' })
  await begun.promise
  await files.forget()
  await ended
  expect(() => files.start(page, ids[3]!)).toThrow(expect.objectContaining({ code: 'not_found' }))
  expect(await readdir(dir)).toEqual([])
})

test.each([
  ['linux', ['a:b', 'x/CON', 'Data', 'data'], ['a:b', 'CON', 'Data', '_data']],
  ['win32', ['a:b', 'CON.txt', 'end.', 'q?'], ['a_b', '_CON.txt', 'end_', 'q_']],
  ['darwin', ['a:b', 'a\nb'], ['a_b', 'a␊b']],
] as const)('names of copies on %s', (platform, paths, names) => {
  expect(namesHere(paths, platform)).toEqual(names)
})
