import { chmod, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type SshKit } from '#proxy/contract'
import { type Drives } from './drives.ts'
import { createPrograms } from './open-program.ts'

let dir: string
beforeEach(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'berth-test-programs-'))
})
afterEach(() => rm(dir, { recursive: true }))

/** A program on PATH that writes its arguments to a file, one per line. */
async function aProgram(name: string, mode = 0o755): Promise<void> {
  const file = path.join(dir, name)
  await writeFile(
    file,
    `#!/bin/sh\nfor one in "$XDG_CONFIG_HOME" "$@"; do echo "$one"; done > '${file}.part'\n/bin/mv '${file}.part' '${file}.said'\n`,
  )
  await chmod(file, mode)
}
const said = (name: string) => readFile(path.join(dir, `${name}.said`), 'utf8').catch(() => '')

const KIT = {
  hostAlias: 'berth-train',
  configInstalled: true,
  identityFile: '/home/mira r/.ssh/berth/id_container-berth-train',
  hostKeyFingerprint: 'SHA256:abc',
  user: 'work',
  tunnel: { port: 30_022 },
} as SshKit

const drives: Drives = {
  open: () => Promise.resolve(),
  tunnelClosed: () => Promise.resolve(),
  close: () => Promise.resolve(),
}
const schemes = { has: () => false, open: () => Promise.resolve() }
const programs = (more: Partial<Parameters<typeof createPrograms>[0]> = {}) =>
  createPrograms({
    platform: 'linux',
    env: { PATH: `relative:${dir}` },
    drives,
    schemes,
    folder: path.join(dir, 'own'),
    ...more,
  })

test.runIf(process.platform === 'linux')(
  'programs that are there are found and started, with their arguments whole',
  async () => {
    await aProgram('xterm')
    await aProgram('putty')
    await aProgram('code', 0o644)
    expect(await programs().list()).toEqual(['terminal', 'putty'])
    await programs().open('terminal', KIT)
    await expect.poll(() => said('xterm')).toBe('\n-e\nssh\n-F\n/home/mira r/.ssh/berth/config\nberth-train\n')
    await programs().open('putty', KIT)
    await expect.poll(() => said('putty')).toContain('-i\n/home/mira r/.ssh/berth/id_container-berth-train.ppk\n')
  },
)

test.runIf(process.platform === 'linux')(
  'what cannot be opened is told: a program that is missing, an editor without the configuration',
  async () => {
    await aProgram('code')
    await expect(programs().open('putty', KIT)).rejects.toMatchObject({ code: 'unavailable' })
    await expect(programs().open('gateway', KIT)).rejects.toMatchObject({ code: 'unavailable' })
    await expect(programs().open('vscode', { ...KIT, configInstalled: false })).rejects.toMatchObject({
      code: 'unavailable',
    })
    await writeFile(path.join(dir, 'cursor'), '#!/nowhere/at/all\n')
    await chmod(path.join(dir, 'cursor'), 0o755)
    await expect(programs().open('cursor', KIT)).rejects.toMatchObject({ code: 'unavailable' })
  },
)

test.runIf(process.platform === 'linux')(
  'FileZilla gets a folder with the site of the session, for its user only',
  async () => {
    await aProgram('filezilla')
    await programs().open('filezilla', KIT)
    await expect.poll(() => said('filezilla')).toBe(`${dir}/own/filezilla\n--site\n0/berth-train\n`)
    const file = path.join(dir, 'own/filezilla/filezilla/sitemanager.xml')
    expect(await readFile(file, 'utf8')).toMatch(/<Name>berth-train<.*/)
    expect(await readFile(file, 'utf8')).toContain(`<Keyfile>${KIT.identityFile}.ppk</Keyfile>`)
    expect((await stat(file)).mode & 0o777).toBe(0o600)
  },
)

test('Gateway is offered where the operating system knows its addresses', async () => {
  const opened: string[] = []
  const known = {
    schemes: {
      has: (scheme: string) => scheme === 'jetbrains-gateway',
      open: (url: string) => Promise.resolve(void opened.push(url)),
    },
  }
  expect(await programs(known).list()).toEqual(['gateway'])
  await programs(known).open('gateway', KIT)
  expect(opened).toEqual([expect.stringContaining('#type=ssh&deploy=false&host=berth-train&port=30022')])
})
