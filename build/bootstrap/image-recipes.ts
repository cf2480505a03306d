import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'

/** The clone that contains this file. */
export const ROOT = join(import.meta.dirname, '..', '..')

/** An image that is built from a folder with a Dockerfile. */
export interface Recipe {
  /** Title shown to the user. */
  readonly title: string
  readonly folder: string
  /** Tags without the hash. */
  readonly tags: readonly string[]
  /** Base of the image, which must exist first. */
  readonly from: 'debian' | 'toolbox' | 'python'
  /** Text for the list of recipes: the image's content, and what its build downloads. */
  readonly about?: string
  /** The build uses npm: it gets the argument `NPM_CONFIG_REGISTRY` and the file `npm-ca.crt`, which may be empty. */
  readonly npm?: boolean
  /** Arguments of the Dockerfile. */
  readonly args?: Readonly<Record<string, string>>
}

export const TOOLBOX: Recipe = {
  title: 'Toolbox',
  folder: join(ROOT, 'build', 'toolbox'),
  tags: ['berth/toolbox:latest'],
  from: 'debian',
  about: 'programs for terminals, SSH and SFTP, which every session gets; fetches Debian packages',
}
export const SESSION_IMAGES: readonly Recipe[] = [
  {
    title: 'Session image',
    folder: join(ROOT, 'build', 'images', 'python'),
    tags: ['berth/python:3.13'],
    from: 'debian',
  },
]
/** Images that an administrator makes by `berth admin image build NAME`. */
export const OPTIONAL_IMAGES: readonly Recipe[] = [
  {
    title: 'R',
    folder: join(ROOT, 'build', 'images', 'r'),
    tags: ['berth/r:4.5'],
    from: 'python',
    about: 'R 4.5 with its Jupyter kernel, on the Python image; fetches Debian packages',
  },
  {
    title: 'Octave',
    folder: join(ROOT, 'build', 'images', 'octave'),
    tags: ['berth/octave:9.4'],
    from: 'python',
    about: 'GNU Octave 9 with its Jupyter kernel, on the Python image; fetches Debian packages',
  },
  {
    title: 'VS Code',
    folder: join(ROOT, 'build', 'images', 'vscode'),
    tags: ['berth/vscode:4'],
    from: 'debian',
    about: 'VS Code in the browser; fetches Debian packages and, from npm, Node and code-server (1.1 GB, minutes)',
    npm: true,
  },
  {
    title: 'CUDA',
    folder: join(ROOT, 'build', 'images', 'cuda'),
    tags: ['berth/cuda:12.8'],
    from: 'python',
    about: 'the Python image with the CUDA libraries of an image by NVIDIA (--base); fetches that image only',
    args: { BASE: 'nvidia/cuda:12.8.1-cudnn-runtime-ubuntu24.04' },
  },
]
/** Images for sessions, each with the name of its folder. */
export const RECIPES: readonly Recipe[] = [...SESSION_IMAGES, ...OPTIONAL_IMAGES]
export const nameOf = ({ folder }: Recipe) => basename(folder)

/** Images that only tests need. */
export const TEST_IMAGES: readonly Recipe[] = [
  {
    title: 'Image without a shell',
    folder: join(ROOT, 'build', 'images', 'tiny'),
    tags: ['berth/tiny:test'],
    from: 'toolbox',
  },
  {
    title: 'Image of busybox',
    folder: join(ROOT, 'build', 'images', 'busybox'),
    tags: ['berth/busybox:test'],
    from: 'toolbox',
  },
]

/** Label that holds a recipe's hash on the image made from it. */
export const LABEL_RECIPE = 'berth.recipe'

/**
 * Fingerprint of a recipe: names, executable bits and contents of its files; documentation (`*.md`) does not count.
 *
 * @returns 12 hex digits
 */
export function recipeHash(folder: string): string {
  const hash = createHash('sha256')
  for (const { path, executable } of recipeFiles(folder)) {
    const content = readFileSync(join(folder, path))
    hash.update(`${path}\0${executable ? 'x' : '-'}\0${String(content.length)}\0`).update(content)
  }
  return hash.digest('hex').slice(0, 12)
}

/** Fingerprint of an image: that of its files, with its arguments and the image of ours below it. */
export function imageHash({ folder, args, from }: Recipe): string {
  const own = recipeHash(folder)
  const base = RECIPES.find(recipe => nameOf(recipe) === from)
  if (args === undefined && base === undefined) return own
  const parts = [own, JSON.stringify(args ?? {}), base ? imageHash(base) : '']
  return createHash('sha256').update(parts.join('\0')).digest('hex').slice(0, 12)
}

export interface RecipeFile {
  /** Relative to the recipe's folder, with `/`. */
  readonly path: string
  readonly executable: boolean
}

/** The files of a recipe in a stable order; the engine builds from exactly these. */
export function recipeFiles(folder: string): RecipeFile[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile() && !entry.name.endsWith('.md'))
    .map(entry => join(entry.parentPath, entry.name))
    .sort()
    .map(file => ({
      path: file.slice(folder.length + 1).replaceAll('\\', '/'),
      executable: (statSync(file).mode & 0o100) !== 0,
    }))
}

/** Name by which agents know this version of the toolbox. */
export function toolboxReference(): string {
  return `berth/toolbox:${recipeHash(TOOLBOX.folder)}`
}
