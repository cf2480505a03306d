import { expect, test } from 'vitest'
import { needsSshConfig } from '#proxy/contract'
import { driveCommand } from './drives.ts'
import { candidates, commandFor, gatewayUrl, type ProgramKit } from './program-table.ts'

const KIT: ProgramKit = {
  hostAlias: 'berth-train',
  identityFile: '/home/mira/.ssh/berth/id_container-berth-train',
  hostKeyFingerprint: 'SHA256:abc',
  user: 'work',
  port: 30_022,
  filezillaFolder: '/home/mira/.config/Berth/programs/filezilla',
  winscpUrl: 'sftp://work;fingerprint=ssh-ed25519-abc@127.0.0.1:30022/home/work/',
}
const CONFIG = ['-F', '/home/mira/.ssh/berth/config']

test('programs are looked for in the folders of PATH, but not in relative ones', () => {
  const found = candidates('linux', { PATH: '.:bin::/opt/my tools:/usr/bin' }).filter(
    ({ program }) => program === 'vscode',
  )
  expect(found.map(({ file }) => file)).toEqual(['/opt/my tools/code', '/usr/bin/code'])
  expect(candidates('linux', {})).toEqual([])
})

test('the terminal that the system names is taken where none of the known ones is there, before xterm', () => {
  const found = candidates('linux', { PATH: '/usr/bin' }).filter(({ program }) => program === 'terminal')
  const names = found.map(({ file }) => file.replace('/usr/bin/', ''))
  expect(names.slice(-2)).toEqual(['x-terminal-emulator', 'xterm'])
  expect(names).toEqual(expect.arrayContaining(['ptyxis', 'kgx', 'foot', 'wezterm']))
})

test('on Windows programs are looked for in their folders; no script is ever taken', () => {
  const found = candidates('win32', { LOCALAPPDATA: 'C:\\Users\\Mira $&\\AppData\\Local', SystemRoot: 'C:\\Windows' })
  expect(found.map(({ file }) => file)).toContain(
    'C:\\Users\\Mira $&\\AppData\\Local\\Programs\\Microsoft VS Code\\Code.exe',
  )
  expect(found.every(({ file }) => /^C:\\.*\.exe$/.test(file))).toBe(true)
})

test.each([
  ['terminal', 'linux', '/usr/bin/gnome-terminal', ['--', 'ssh', ...CONFIG, 'berth-train']],
  ['terminal', 'linux', '/usr/bin/ptyxis', ['--new-window', '--', 'ssh', ...CONFIG, 'berth-train']],
  ['terminal', 'linux', '/usr/bin/kgx', ['--', 'ssh', ...CONFIG, 'berth-train']],
  ['terminal', 'linux', '/usr/bin/foot', ['ssh', ...CONFIG, 'berth-train']],
  ['terminal', 'linux', '/usr/bin/wezterm', ['start', '--', 'ssh', ...CONFIG, 'berth-train']],
  ['terminal', 'linux', '/usr/bin/x-terminal-emulator', ['-e', 'ssh', ...CONFIG, 'berth-train']],
  ['terminal', 'linux', '/usr/bin/xterm', ['-e', 'ssh', ...CONFIG, 'berth-train']],
  ['terminal', 'win32', 'C:\\Windows\\System32\\conhost.exe', ['ssh', ...CONFIG, 'berth-train']],
  ['terminal', 'darwin', '/usr/bin/open', ['-a', 'Terminal', 'ssh://berth-train']],
  ['vscode', 'linux', '/usr/bin/code', ['--folder-uri', 'vscode-remote://ssh-remote+berth-train/home/work']],
  ['cursor', 'win32', 'C:\\Cursor.exe', ['--folder-uri', 'vscode-remote://ssh-remote+berth-train/home/work']],
  [
    'putty',
    'linux',
    '/usr/bin/putty',
    ['-ssh', '-P', '30022', '-i', `${KIT.identityFile}.ppk`, '-hostkey', 'SHA256:abc', 'work@127.0.0.1'],
  ],
  ['winscp', 'win32', 'C:\\WinSCP.exe', [KIT.winscpUrl]],
] as const)('%s on %s by %s gets a list of arguments', (program, platform, file, args) => {
  expect(commandFor({ program, file }, KIT, platform)).toEqual({ file, args })
})

test('FileZilla connects to the one site of a configuration of its own', () => {
  expect(commandFor({ program: 'filezilla', file: '/usr/bin/filezilla' }, KIT, 'linux')).toEqual({
    file: '/usr/bin/filezilla',
    args: ['--site', '0/berth-train'],
    env: { XDG_CONFIG_HOME: KIT.filezillaFolder },
  })
})

test('Gateway gets the Host of the configuration in an address', () => {
  expect(gatewayUrl(KIT)).toBe(
    'jetbrains-gateway://connect#type=ssh&deploy=false&host=berth-train&port=30022&user=work&projectPath=%2Fhome%2Fwork',
  )
})

test.each([
  ['linux', '/home/mira/Berth/berth-train', 'nosuid,nodev,noexec,fsname=berth-train'],
  ['darwin', '/Users/mira/Berth/berth-train', 'nosuid,nodev,noexec,volname=berth-train'],
  ['win32', 'Z:', 'uid=-1,gid=-1,volname=berth-train'],
] as const)('a drive on %s follows links in the session, and starts nothing', (platform, place, own) => {
  const options = `reconnect,follow_symlinks,idmap=user,${own}`
  expect(driveCommand('sshfs', KIT, { place, platform })).toEqual({
    file: 'sshfs',
    args: ['-f', ...CONFIG, '-o', options, 'berth-train:/home/work', place],
  })
})

test('programs that know a session by ~/.ssh/config only', () => {
  const onMac = ['terminal', 'vscode', 'cursor', 'gateway', 'putty', 'drive'] as const
  expect(onMac.filter(program => needsSshConfig(program, 'darwin'))).toEqual([
    'terminal',
    'vscode',
    'cursor',
    'gateway',
  ])
  expect(needsSshConfig('terminal', 'linux')).toBe(false)
})
