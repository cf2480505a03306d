import { join } from 'node:path'
import { ensureBaseImage } from './base-image.ts'
import { ensureImage, isBuilt } from './build-image.ts'
import { ensureEngine } from './docker-engine.ts'
import type { EngineEndpoint } from './engine-client.ts'
import { SESSION_IMAGES, TEST_IMAGES, TOOLBOX, type Recipe } from './image-recipes.ts'
import type { Platform } from './platform.ts'
import type { Progress } from './progress.ts'

export interface StepDeps {
  readonly progress: Progress
  readonly platform: Platform
  readonly dataDir: string
  readonly signal: AbortSignal
}

/** The step that finds, installs or starts the engine. */
export async function engineStep({ progress, ...deps }: StepDeps): Promise<EngineEndpoint> {
  let found: EngineEndpoint | undefined
  await progress.step('Docker Engine', async note => {
    const { engine, result } = await ensureEngine({ ...deps, note })
    found = engine
    return result
  })
  if (found === undefined) throw new Error('unreachable: the step returned without an engine')
  return found
}

/**
 * Builds all images that a session needs; with `tests`, also images needed only by tests. Independent images are built
 * concurrently.
 */
export async function imageSteps(engine: EngineEndpoint, deps: StepDeps & { readonly tests?: boolean }): Promise<void> {
  const { progress, platform, dataDir, signal, tests = false } = deps
  const build = (recipe: Recipe) => progress.step(recipe.title, note => ensureImage(recipe, { engine, note, signal }))
  await progress.step('Base image', async note => {
    // Tests start containers of the base image; otherwise only a build needs it, and making it takes half a minute.
    if (!tests && (await areBuilt([TOOLBOX, ...SESSION_IMAGES], engine))) return 'not needed'
    return ensureBaseImage({ engine, platform, note, signal, workDir: join(dataDir, 'tmp') })
  })
  const toolbox = async () => {
    await build(TOOLBOX)
    if (tests) await allSettledOrThrow(TEST_IMAGES.map(build))
  }
  await allSettledOrThrow([toolbox(), ...SESSION_IMAGES.map(build)])
}

async function areBuilt(recipes: readonly Recipe[], engine: EngineEndpoint): Promise<boolean> {
  return (await Promise.all(recipes.map(recipe => isBuilt(recipe, engine)))).every(Boolean)
}

/** Like Promise.all, but waits for all before it throws: no step continues after the program has printed its last message. */
export async function allSettledOrThrow(work: readonly Promise<unknown>[]): Promise<void> {
  const failed = (await Promise.allSettled(work)).find(result => result.status === 'rejected')
  if (failed !== undefined) throw failed.reason as Error
}
