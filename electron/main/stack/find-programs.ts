import { readFileSync } from 'node:fs'
import path from 'node:path'
import { z } from 'zod'
import { type PackedPrograms, removeOtherPrograms, unpackPrograms } from './packed-programs.ts'

/** The programs of Berth on this computer: those of a clone, or those that a package of the app contains. */
export interface StackPrograms {
  /** @returns the pinned Node, and the arguments that run the CLI */
  command(note: (line: string) => void): Promise<readonly [string, ...string[]]>
  /** Arguments of `berth up`. */
  readonly options: readonly string[]
  /** Removes files of earlier versions of the app; call it while this app runs the services. */
  cleanUp(): Promise<void>
}

export interface ProgramPlaces {
  readonly isPackaged: boolean
  /** Folder of the app, or app.asar. */
  readonly appRoot: string
  /** Folder beside app.asar. */
  readonly resources: string
  readonly env: Readonly<Record<string, string | undefined>>
  readonly home: string
}

/** The fields that a package adds to the manifest of the app (`build/packages/desktop/stage-app.ts`). */
const Manifest = z.object({ berth: z.object({ programs: z.string().regex(/^[0-9a-f]{64}$/) }) })

export function findPrograms({ isPackaged, appRoot, resources, env, home }: ProgramPlaces): StackPrograms {
  if (!isPackaged) {
    const node = env['BERTH_NODE'] ?? path.join(appRoot, 'node_modules/.bin/node')
    return {
      command: () => Promise.resolve([node, path.join(appRoot, 'bin/berth')]),
      options: [],
      cleanUp: () => Promise.resolve(),
    }
  }
  // Read on first use: packages for other systems have no programs, and the app never asks for them there.
  const packed = (): PackedPrograms => {
    const manifest: unknown = JSON.parse(readFileSync(path.join(appRoot, 'package.json'), 'utf8'))
    const data = env['BERTH_DATA'] ?? path.join(env['XDG_DATA_HOME'] ?? path.join(home, '.local/share'), 'berth')
    return {
      archive: path.join(resources, 'programs.tar.gz'),
      sha256: Manifest.parse(manifest).berth.programs,
      folder: path.join(data, 'programs'),
    }
  }
  return {
    command: note => unpackPrograms(packed(), note),
    // In a clone, `npm start` has built the images of sessions; for a package, `berth up` builds them.
    options: ['--images'],
    cleanUp: () => removeOtherPrograms(packed()),
  }
}
