import { pack } from 'tar-stream'
import { expect, test } from 'vitest'
import { readArchive } from './service-definitions.ts'

const FOLDER = 'service-defs'

test('definitions are read from files named after their apps; links, other kinds and other places are ignored', async () => {
  const archive = pack()
  archive.entry({ name: `${FOLDER}/`, type: 'directory' })
  archive.entry({ name: `${FOLDER}/Vs_Code.json` }, '{"command":["code"]}')
  archive.entry({ name: `${FOLDER}/broken.json` }, '{"command":')
  archive.entry({ name: `${FOLDER}/notes.txt` }, '{}')
  archive.entry({ name: `${FOLDER}/deep/inner.json` }, '{}')
  archive.entry({ name: `${FOLDER}/../outside.json` }, '{}')
  archive.entry({ name: `${FOLDER}/shadow.json`, type: 'symlink', linkname: '/etc/shadow' })
  archive.entry({ name: `${FOLDER}/large.json` }, JSON.stringify({ command: ['x'.repeat(300 * 1024)] }))
  archive.finalize()
  expect(await readArchive(archive)).toEqual(new Map([['vs-code', { command: ['code'] }]]))
})

test('of a truncated archive the complete part is used', async () => {
  const archive = pack()
  archive.entry({ name: `${FOLDER}/a.json` }, '{"command":["a"]}')
  for (let index = 0; index < 50; index++) archive.entry({ name: `${FOLDER}/x${index}.bin` }, Buffer.alloc(200 * 1024))
  archive.finalize()
  expect([...(await readArchive(archive)).keys()]).toEqual(['a'])
})

test('a file that is not an archive is reported and has no definitions', async () => {
  const archive = pack()
  archive.finalize()
  expect((await readArchive(archive)).size).toBe(0)
})
