import { FuseV1Options, getCurrentFuseWire } from '@electron/fuses'
import { type Configuration } from 'electron-builder'

/**
 * Switches in Electron's program that no option and no variable can turn back. So the program cannot be used as a Node with the app's
 * rights (`ELECTRON_RUN_AS_NODE`, `NODE_OPTIONS`, `--inspect`), and starts only app.asar. Windows and macOS check its hash, which
 * electron-builder writes into the program; on Linux Electron does not check it, but there the package's files belong to root.
 */
export const FUSES = {
  runAsNode: false,
  enableCookieEncryption: true,
  enableNodeOptionsEnvironmentVariable: false,
  enableNodeCliInspectArguments: false,
  enableEmbeddedAsarIntegrityValidation: true,
  onlyLoadAppFromAsar: true,
  // Berth has no snapshot of its own for the main process.
  loadBrowserProcessSpecificV8Snapshot: false,
  // The page uses a scheme of its own.
  grantFileProtocolExtraPrivileges: false,
} as const satisfies Configuration['electronFuses']

/** The switches that a version of Electron has. */
export function fusesOf(version: string): Partial<typeof FUSES> {
  const { grantFileProtocolExtraPrivileges, ...first } = FUSES
  return Number(version.split('.')[0]) >= 29 ? { ...first, grantFileProtocolExtraPrivileges } : first
}

const NAMES = {
  runAsNode: FuseV1Options.RunAsNode,
  enableCookieEncryption: FuseV1Options.EnableCookieEncryption,
  enableNodeOptionsEnvironmentVariable: FuseV1Options.EnableNodeOptionsEnvironmentVariable,
  enableNodeCliInspectArguments: FuseV1Options.EnableNodeCliInspectArguments,
  enableEmbeddedAsarIntegrityValidation: FuseV1Options.EnableEmbeddedAsarIntegrityValidation,
  onlyLoadAppFromAsar: FuseV1Options.OnlyLoadAppFromAsar,
  loadBrowserProcessSpecificV8Snapshot: FuseV1Options.LoadBrowserProcessSpecificV8Snapshot,
  grantFileProtocolExtraPrivileges: FuseV1Options.GrantFileProtocolExtraPrivileges,
} as const satisfies Record<keyof typeof FUSES, FuseV1Options>

/** Characters of the fuses in the program. `r`: removed from this version of Electron; `undefined`: unknown to it. */
const STATES: Readonly<Record<number, boolean | undefined>> = { 0x30: false, 0x31: true }

/**
 * Reads the fuses back from a program.
 *
 * @returns on or off by name; a fuse that this Electron does not have is left out
 */
export async function readFuses(program: string): Promise<Partial<Record<keyof typeof FUSES, boolean>>> {
  const wire = (await getCurrentFuseWire(program)) as unknown as Readonly<Record<number, number | undefined>>
  const states = Object.entries(NAMES).map(([name, index]) => [name, STATES[wire[index] ?? 0]] as const)
  return Object.fromEntries(states.filter(([, state]) => state !== undefined))
}
