import { lstat, mkdtemp, readdir, readFile, rm, stat, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { pack } from 'tar-stream'
import { unpack } from './unpack.ts'

let directory: string
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'berth-test-unpack-'))
})
afterEach(() => rm(directory, { recursive: true, force: true }))

type Entry = Parameters<ReturnType<typeof pack>['entry']>[0]
async function bytesOf(...entries: [Entry, string?][]): Promise<Buffer> {
  const archive = pack()
  for (const [header, text] of entries) archive.entry(header, text ?? '')
  archive.finalize()
  return await buffer(archive)
}
const archiveOf = async (...entries: [Entry, string?][]) => Readable.from([await bytesOf(...entries)])

test('a tree is unpacked over what is there, without links, and with no bits but the executable one', async () => {
  const archive = await archiveOf(
    [{ name: 'out/', type: 'directory' }],
    [{ name: 'out/deep/run', mode: 0o6755 }, 'script'],
    [{ name: 'out/figure' }, 'x'.repeat(100_000)],
    [{ name: 'out/link', type: 'symlink', linkname: '/etc/passwd' }],
  )
  expect(await unpack(archive, directory, 'out')).toBe(1)
  expect((await readdir(join(directory, 'out'))).toSorted()).toEqual(['deep', 'figure'])
  expect(await readFile(join(directory, 'out/deep/run'), 'utf8')).toBe('script')
  expect((await stat(join(directory, 'out/deep/run'))).mode & 0o7777).toBe(0o755)
  await unpack(await archiveOf([{ name: 'out/figure' }, 'new']), directory, 'out')
  expect(await readFile(join(directory, 'out/figure'), 'utf8')).toBe('new')
})

test.each(['../out', '/out', 'out/../../x', 'other', 'out\\..\\x', '.bashrc'])(
  'an archive with %s is refused, and nothing is made',
  async name => {
    await expect(unpack(await archiveOf([{ name }, 'x']), directory, 'out')).rejects.toMatchObject({
      code: 'bad_request',
    })
    expect(await readdir(directory)).toEqual([])
  },
)

test('a link on this computer is replaced, not followed, and one on the way is refused', async () => {
  await symlink('/etc', join(directory, 'out'))
  await expect(unpack(await archiveOf([{ name: 'out/x' }, 'x']), directory, 'out')).rejects.toThrow()
  await symlink(join(directory, 'elsewhere'), join(directory, 'file'))
  await unpack(await archiveOf([{ name: 'file' }, 'x']), directory, 'file')
  expect((await lstat(join(directory, 'file'))).isFile()).toBe(true)
  expect(await readdir(directory)).not.toContain('elsewhere')
})

test('an archive that is cut off is a failure, and leaves no part', async () => {
  const whole = await bytesOf([{ name: 'out' }, 'x'.repeat(5_000)])
  await expect(unpack(Readable.from([whole.subarray(0, 3_000)]), directory, 'out')).rejects.toThrow()
  expect(await readdir(directory)).toEqual([])
})
