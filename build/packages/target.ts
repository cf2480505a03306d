import { type Note } from '../bootstrap/progress.ts'
import { type PackedApp, type PreparedApp } from './desktop/pack-app.ts'

/** Something that `npm run package` makes. */
export interface Target {
  readonly name: string
  /** One-line description of the target, for the list of targets. */
  readonly about: string
  /**
   * @returns paths of the files that were made
   * @throws TargetUnavailable if this computer lacks a tool
   */
  readonly make: (work: PackageWork) => Promise<readonly string[]>
}

/** Inputs that targets share; each is made once, when the first target asks for it. */
export interface PackageWork {
  readonly outDir: string
  /** Folder for temporary trees; removed at the end. */
  readonly stageDir: string
  /** Time of all files of packages, in seconds. */
  readonly seconds: number
  readonly note: Note
  readonly signal: AbortSignal
  /** Folder with Berth's own compiled files (`stage-program.ts`); not to be changed. */
  readonly program: () => Promise<string>
  /** Folder with the program, its npm packages, Node and PostgreSQL (`stage-runtime.ts`); not to be changed. */
  readonly runtime: () => Promise<string>
  /** Everything that electron-builder packs; not to be changed. */
  readonly prepared: () => Promise<PreparedApp>
  /** The unpacked desktop app (`desktop/pack-app.ts`); not to be changed. */
  readonly desktop: () => Promise<PackedApp>
}

/** Thrown for a target that this computer cannot make; the message names the missing tool. */
export class TargetUnavailable extends Error {
  override readonly name = 'TargetUnavailable'
}
