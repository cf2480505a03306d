import path from 'node:path'
import { type Program, type SshKit } from '#proxy/contract'

/** Programs whose arguments say what to open; for the others see `drives.ts` and `gatewayUrl`. */
export type Started = Exclude<Program, 'gateway' | 'drive'>

/** A program file that was found. */
export interface Found {
  readonly program: Program
  readonly file: string
}

/** The parts of a kit that programs get. All of them are made by Berth: an alias of harmless characters, a port, paths of our own files. */
export type ProgramKit = Pick<SshKit, 'hostAlias' | 'identityFile' | 'hostKeyFingerprint' | 'user' | 'winscpUrl'> & {
  readonly port: number
  /** Folder with the configuration that FileZilla runs with. */
  readonly filezillaFolder: string
}

export interface Command {
  readonly file: string
  readonly args: readonly string[]
  /** Added to the environment. */
  readonly env?: Readonly<Record<string, string>>
}

interface Place {
  readonly program: Program
  /** Names of program files on PATH, or whole paths. `%NAME%` is a variable of the environment. */
  readonly files: readonly string[]
}

const LINUX: readonly Place[] = [
  {
    program: 'terminal',
    files: [
      ...['ptyxis', 'kgx', 'gnome-terminal', 'konsole', 'xfce4-terminal', 'kitty', 'alacritty', 'wezterm', 'foot'],
      // `x-terminal-emulator` is the terminal that Debian's alternatives select, which may be any.
      ...['x-terminal-emulator', 'xterm'],
    ],
  },
  { program: 'vscode', files: ['code'] },
  { program: 'cursor', files: ['cursor'] },
  { program: 'putty', files: ['putty'] },
  { program: 'filezilla', files: ['filezilla'] },
  { program: 'drive', files: ['sshfs'] },
]
// On macOS an app that the desktop starts has a short PATH, so whole paths are listed.
const MAC: readonly Place[] = [
  { program: 'terminal', files: ['/usr/bin/open'] },
  { program: 'vscode', files: ['/Applications/Visual Studio Code.app/Contents/Resources/app/bin/code'] },
  { program: 'cursor', files: ['/Applications/Cursor.app/Contents/Resources/app/bin/cursor'] },
  { program: 'drive', files: ['/usr/local/bin/sshfs', '/opt/homebrew/bin/sshfs'] },
]
// Only .exe files: a .cmd file runs in a shell, which would parse the arguments again.
const WINDOWS: readonly Place[] = [
  { program: 'terminal', files: ['%SystemRoot%\\System32\\conhost.exe'] },
  {
    program: 'vscode',
    files: ['%LOCALAPPDATA%\\Programs\\Microsoft VS Code\\Code.exe', '%ProgramFiles%\\Microsoft VS Code\\Code.exe'],
  },
  { program: 'cursor', files: ['%LOCALAPPDATA%\\Programs\\cursor\\Cursor.exe'] },
  {
    program: 'winscp',
    files: ['%ProgramFiles(x86)%\\WinSCP\\WinSCP.exe', '%LOCALAPPDATA%\\Programs\\WinSCP\\WinSCP.exe'],
  },
  { program: 'putty', files: ['%ProgramFiles%\\PuTTY\\putty.exe', '%ProgramFiles(x86)%\\PuTTY\\putty.exe'] },
  {
    program: 'drive',
    files: ['%ProgramFiles%\\SSHFS-Win\\bin\\sshfs.exe', '%ProgramFiles(x86)%\\SSHFS-Win\\bin\\sshfs.exe'],
  },
]

type Environment = Readonly<Record<string, string | undefined>>

/** Files to look for, in this order; the first that exists is taken. */
export function candidates(platform: NodeJS.Platform, env: Environment): readonly Found[] {
  const places = platform === 'win32' ? WINDOWS : platform === 'darwin' ? MAC : LINUX
  // A relative entry of PATH would find programs in whatever folder the app was started from.
  const folders = (env['PATH'] ?? '').split(':').filter(folder => path.posix.isAbsolute(folder))
  return places.flatMap(({ program, files }) =>
    files.flatMap(name => {
      if (platform === 'win32') {
        const variable = /^%(.+?)%/.exec(name)?.[1] ?? ''
        const value = env[variable]
        return value ? [{ program, file: name.replace(`%${variable}%`, () => value) }] : []
      }
      if (name.startsWith('/')) return [{ program, file: name }]
      return folders.map(folder => ({ program, file: path.posix.join(folder, name) }))
    }),
  )
}

/** Options that tell a terminal which program to run; all further arguments belong to that program. */
const TERMINALS: Readonly<Record<string, readonly string[]>> = {
  ptyxis: ['--new-window', '--'],
  kgx: ['--'],
  'gnome-terminal': ['--'],
  konsole: ['-e'],
  'xfce4-terminal': ['-x'],
  kitty: [],
  alacritty: ['-e'],
  wezterm: ['start', '--'],
  foot: [],
  // Debian Policy 11.8.3
  'x-terminal-emulator': ['-e'],
  xterm: ['-e'],
  'conhost.exe': [],
}

/** ssh reads only our own file, even if the user's file includes it: other settings of the user must not affect a session. */
export function configArguments({ identityFile }: Pick<ProgramKit, 'identityFile'>): readonly string[] {
  return identityFile === null ? [] : ['-F', path.join(path.dirname(identityFile), 'config')]
}

/**
 * The program and its arguments for a session. Nothing is a shell string: every value is an argument of its own, begins with no `-`, and
 * comes from the kit, never from a page or a container. Some programs need the Host block in the user's own configuration (`needsSshConfig`).
 */
export function commandFor(
  { program, file }: { readonly program: Started; readonly file: string },
  kit: ProgramKit,
  platform: NodeJS.Platform,
): Command {
  const { hostAlias, identityFile, port, user } = kit
  switch (program) {
    case 'terminal': {
      if (platform === 'darwin') return { file, args: ['-a', 'Terminal', `ssh://${hostAlias}`] }
      const name = path.win32.basename(file)
      const before = TERMINALS[name] ?? TERMINALS[path.posix.basename(file)] ?? ['-e']
      return { file, args: [...before, 'ssh', ...configArguments(kit), hostAlias] }
    }
    case 'vscode':
    case 'cursor':
      return { file, args: ['--folder-uri', `vscode-remote://ssh-remote+${hostAlias}/home/work`] }
    case 'putty': {
      const target = `${user}@127.0.0.1`
      const key = identityFile === null ? [] : ['-i', `${identityFile}.ppk`]
      return { file, args: ['-ssh', '-P', String(port), ...key, '-hostkey', kit.hostKeyFingerprint, target] }
    }
    case 'winscp':
      return { file, args: [kit.winscpUrl] }
    case 'filezilla':
      // FileZilla can log on by key only with a site of its site manager, and we do not change the user's own sites.
      return { file, args: ['--site', `0/${hostAlias}`], env: { XDG_CONFIG_HOME: kit.filezillaFolder } }
  }
}

/** Scheme of JetBrains Gateway, which registers it in each operating system. */
export const GATEWAY_SCHEME = 'jetbrains-gateway'

/** Fills in the form of a new connection in JetBrains Gateway, which reads ~/.ssh/config; the IDE is chosen there. */
export function gatewayUrl({ hostAlias, user, port }: Pick<ProgramKit, 'hostAlias' | 'user' | 'port'>): string {
  const fields = { type: 'ssh', deploy: 'false', host: hostAlias, port: String(port), user, projectPath: '/home/work' }
  return `${GATEWAY_SCHEME}://connect#${new URLSearchParams(fields).toString()}`
}
