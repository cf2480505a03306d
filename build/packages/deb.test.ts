import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { findProgram } from '../bootstrap/platform.ts'
import { buildDeb } from './deb.ts'

let folder: string
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'berth-deb-'))))
afterEach(() => rmSync(folder, { recursive: true }))

describe.runIf(findProgram('dpkg-deb') !== undefined)('a .deb', () => {
  test('says where it belongs, and has the file of its copyright', async () => {
    const root = join(folder, 'root')
    mkdirSync(join(root, 'usr/bin'), { recursive: true })
    writeFileSync(join(root, 'usr/bin/a'), '')
    const file = join(folder, 'a.deb')
    const about = { name: 'a-program', version: '1.0', summary: 'A program', description: 'It does a thing.' }
    await buildDeb({ ...about, root, seconds: 0, section: 'devel', depends: ['libc6'] }, file)
    const dpkg = (...args: string[]) => execFileSync('dpkg-deb', args, { encoding: 'utf8' })
    expect(dpkg('-f', file, 'Section')).toBe('devel\n')
    expect(dpkg('-c', file)).toContain('./usr/share/doc/a-program/copyright')
    dpkg('-x', file, join(folder, 'out'))
    const copyright = readFileSync(join(folder, 'out/usr/share/doc/a-program/copyright'), 'utf8')
    expect(copyright).toMatch(/^Format: .*\nUpstream-Name: Berth\n/)
    expect(copyright).toContain('/usr/share/common-licenses/Apache-2.0')
  })
})
