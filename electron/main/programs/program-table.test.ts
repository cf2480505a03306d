import { expect, test } from 'vitest'
import { candidates, commandFor, type ProgramKit } from './program-table.ts'

const KIT: ProgramKit = {
  hostAlias: 'berth-train',
  configInstalled: true,
  identityFile: '/home/mira/.ssh/berth/id_container-berth-train',
  hostKeyFingerprint: 'SHA256:abc',
  user: 'work',
  port: 30_022,
  winscpUrl: 'sftp://work;fingerprint=ssh-ed25519-abc@127.0.0.1:30022/home/work/',
}
const without = { ...KIT, configInstalled: false }
const CONFIG = ['-F', '/home/mira/.ssh/berth/config']

test('programs are looked for in the folders of PATH, but not in relative ones', () => {
  const found = candidates('linux', { PATH: '.:bin::/opt/my tools:/usr/bin' }).filter(
    ({ program }) => program === 'vscode',
  )
  expect(found.map(({ file }) => file)).toEqual(['/opt/my tools/code', '/usr/bin/code'])
  expect(candidates('linux', {})).toEqual([])
})

test('on Windows programs are looked for in their folders; no script is ever taken', () => {
  const found = candidates('win32', { LOCALAPPDATA: 'C:\\Users\\Mira $&\\AppData\\Local', SystemRoot: 'C:\\Windows' })
  expect(found.map(({ file }) => file)).toContain(
    'C:\\Users\\Mira $&\\AppData\\Local\\Programs\\Microsoft VS Code\\Code.exe',
  )
  expect(found.every(({ file }) => /^C:\\.*\.exe$/.test(file))).toBe(true)
})

test.each([
  ['terminal', '/usr/bin/gnome-terminal', KIT, ['--', 'ssh', ...CONFIG, 'berth-train']],
  ['terminal', '/usr/bin/xterm', without, ['-e', 'ssh', ...CONFIG, 'berth-train']],
  ['terminal', 'C:\\Windows\\System32\\conhost.exe', KIT, ['ssh', ...CONFIG, 'berth-train']],
  ['vscode', '/usr/bin/code', KIT, ['--folder-uri', 'vscode-remote://ssh-remote+berth-train/home/work']],
  ['vscode', '/usr/bin/code', without, undefined],
  [
    'putty',
    '/usr/bin/putty',
    KIT,
    ['-ssh', '-P', '30022', '-i', `${KIT.identityFile}.ppk`, '-hostkey', 'SHA256:abc', 'work@127.0.0.1'],
  ],
  ['winscp', 'C:\\WinSCP.exe', KIT, [KIT.winscpUrl]],
] as const)('%s by %s gets a list of arguments', (program, file, kit, args) => {
  expect(commandFor({ program, file }, kit)).toEqual(args && { file, args })
})
