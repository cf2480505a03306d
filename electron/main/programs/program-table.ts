import path from 'node:path'
import { type Program, type SshKit } from '#proxy/contract'

/** A program file that was found, and how its arguments are built. */
export interface Found {
  readonly program: Program
  readonly file: string
}

/** The parts of a kit that programs get. All of them are made by Berth: an alias of harmless characters, a port, paths of our own files. */
export type ProgramKit = Pick<
  SshKit,
  'hostAlias' | 'configInstalled' | 'identityFile' | 'hostKeyFingerprint' | 'user' | 'winscpUrl'
> & { readonly port: number }

export interface Command {
  readonly file: string
  readonly args: readonly string[]
}

interface Place {
  readonly program: Program
  /** Names of program files on PATH, or whole paths. `%NAME%` is a variable of the environment. */
  readonly files: readonly string[]
}

const LINUX: readonly Place[] = [
  { program: 'terminal', files: ['gnome-terminal', 'konsole', 'xfce4-terminal', 'kitty', 'alacritty', 'xterm'] },
  { program: 'vscode', files: ['code'] },
  { program: 'cursor', files: ['cursor'] },
  { program: 'putty', files: ['putty'] },
]
const MAC: readonly Place[] = [
  { program: 'vscode', files: ['/Applications/Visual Studio Code.app/Contents/Resources/app/bin/code'] },
  { program: 'cursor', files: ['/Applications/Cursor.app/Contents/Resources/app/bin/cursor'] },
]
// Only .exe files: a .cmd file runs in a shell, which would read the arguments once more.
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

/** How a terminal is told which program to run; the rest of the arguments is that program's. */
const TERMINALS: Readonly<Record<string, readonly string[]>> = {
  'gnome-terminal': ['--'],
  konsole: ['-e'],
  'xfce4-terminal': ['-x'],
  kitty: [],
  alacritty: ['-e'],
  xterm: ['-e'],
  'conhost.exe': [],
}

/**
 * The program and its arguments for a session. Nothing is a shell string: every value is an argument of its own, begins with no `-`, and
 * comes from the kit, never from a page or a container.
 *
 * @returns undefined where the program needs the Host block in the user's own configuration, which is switched off
 */
export function commandFor({ program, file }: Found, kit: ProgramKit): Command | undefined {
  const { hostAlias, configInstalled, identityFile, port, user } = kit
  // Our own file, although the user's may include it: what stands in the user's does not concern a session.
  const config = identityFile === null ? [] : ['-F', path.join(path.dirname(identityFile), 'config')]
  switch (program) {
    case 'terminal': {
      const name = path.win32.basename(file)
      const before = TERMINALS[name] ?? TERMINALS[path.posix.basename(file)] ?? ['-e']
      return { file, args: [...before, 'ssh', ...config, hostAlias] }
    }
    case 'vscode':
    case 'cursor':
      if (!configInstalled) return undefined
      return { file, args: ['--folder-uri', `vscode-remote://ssh-remote+${hostAlias}/home/work`] }
    case 'putty': {
      const target = `${user}@127.0.0.1`
      const key = identityFile === null ? [] : ['-i', `${identityFile}.ppk`]
      return { file, args: ['-ssh', '-P', String(port), ...key, '-hostkey', kit.hostKeyFingerprint, target] }
    }
    case 'winscp':
      return { file, args: [kit.winscpUrl] }
  }
}
