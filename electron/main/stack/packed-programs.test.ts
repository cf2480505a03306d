import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  appendFileSync,
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { writeTarGz } from '../../../build/packages/tar-folder.ts'
import { findPrograms } from './find-programs.ts'

let root: string
let app: string
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'berth-programs-'))
  app = join(root, 'app')
})
afterEach(() => rmSync(root, { recursive: true }))

/** A package whose Node is a shell script that prints its arguments. */
async function aPackage(version: string) {
  const tree = join(root, `tree-${version}`)
  const folders = ['node_modules/.bin', 'bin', 'deep/er'].map(name => join(tree, name))
  for (const folder of [...folders, app]) mkdirSync(folder, { recursive: true })
  writeFileSync(join(tree, 'node_modules/.bin/node'), `#!/bin/sh\necho ${version} "$@"\n`)
  chmodSync(join(tree, 'node_modules/.bin/node'), 0o755)
  writeFileSync(join(tree, 'bin/berth'), '')
  execFileSync('ln', ['-s', '../deep', join(tree, 'bin/link')])
  await writeTarGz(tree, join(root, 'programs.tar.gz'), { prefix: '', seconds: 0 })
  const programs = createHash('sha256')
    .update(readFileSync(join(root, 'programs.tar.gz')))
    .digest('hex')
  writeFileSync(join(app, 'package.json'), JSON.stringify({ berth: { programs } }))
  return findPrograms({
    isPackaged: true,
    appRoot: app,
    resources: root,
    env: { XDG_DATA_HOME: root },
    home: '/nowhere',
  })
}
const unpacked = () => readdirSync(join(root, 'berth/programs'))
const run = ([program, ...args]: readonly string[]) => execFileSync(program!, args, { encoding: 'utf8' })

test('programs of a package are unpacked once, with their modes and links, and run', async () => {
  const programs = await aPackage('one')
  const notes: string[] = []
  const command = await programs.command(line => notes.push(line))
  expect(run(command)).toMatch(/^one .*\/bin\/berth\n$/)
  expect(readdirSync(join(command[1]!, '../link'))).toEqual(['er'])
  expect(await programs.command(line => notes.push(line))).toEqual(command)
  expect(notes).toEqual([expect.stringContaining('Unpacking')])
  expect(unpacked()).toHaveLength(1)
})

test('a new version has its own folder; the old one goes when the new one runs', async () => {
  await (await aPackage('one')).command(() => undefined)
  const next = await aPackage('two')
  const command = await next.command(() => undefined)
  expect(unpacked()).toHaveLength(2)
  await next.cleanUp()
  expect(unpacked()).toHaveLength(1)
  expect(run(command)).toMatch(/^two /)
})

test('an archive with another hash than the one of the app is refused, and leaves nothing', async () => {
  const programs = await aPackage('one')
  appendFileSync(join(root, 'programs.tar.gz'), 'x')
  await expect(programs.command(() => undefined)).rejects.toMatchObject({
    code: 'unavailable',
    detail: { why: expect.stringContaining('is not the archive') as string },
  })
  expect(() => unpacked()).toThrow('ENOENT')
})

test('a clone runs its own programs', async () => {
  const programs = findPrograms({ isPackaged: false, appRoot: '/clone', resources: '/', env: {}, home: '/' })
  expect(await programs.command(() => undefined)).toEqual(['/clone/node_modules/.bin/node', '/clone/bin/berth'])
})
