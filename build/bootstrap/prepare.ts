import { allSettledOrThrow, engineStep, imageSteps, type StepDeps } from './build-images.ts'
import { ensureDesktopBundle, ensureElectron, FETCH_LIMIT_MS } from './desktop-app.ts'
import { DEFAULT_SOCKET, type EngineEndpoint } from './engine-client.ts'
import { toolboxReference } from './image-recipes.ts'
import { SessionsUnavailable, StepError } from './progress.ts'
import { ensureRenderer } from './renderer.ts'

export interface PrepareDeps extends StepDeps {
  readonly docker: boolean
  /** False if `vite` serves the console itself. */
  readonly renderer?: boolean
  /** True: the console opens in the desktop app, which is prepared too. */
  readonly desktop?: boolean
  readonly say: (text: string) => void
}

/**
 * Runs all steps before `berth up`. An engine or a base image that only the user can provide is no reason to stop: the console
 * starts without sessions.
 *
 * @returns environment variables for `berth up`
 */
export async function prepare(deps: PrepareDeps): Promise<Record<string, string>> {
  const { progress, docker, renderer = true, desktop = false, say, signal } = deps
  let environment: Record<string, string> = { BERTH_NO_ENGINE: '1' }
  const sessions = async () => {
    if (!docker) return
    try {
      const engine = await engineStep(deps)
      await imageSteps(engine, deps)
      environment = { BERTH_TOOLBOX_IMAGE: toolboxReference(), ...hostVariable(engine) }
    } catch (error) {
      if (!(error instanceof SessionsUnavailable)) throw error
      say(`  ${error.hint ?? ''}\n  Going on without sessions.\n`)
    }
  }
  const page = () => progress.step('Console', note => ensureRenderer(note, signal))
  /** Without the app the console opens in a window of a browser, so a failure stops nothing. */
  const app = () =>
    progress.step('Desktop app', async note => {
      try {
        await ensureDesktopBundle(note, signal)
        await ensureElectron({ note, signal, limitMs: FETCH_LIMIT_MS, again: false })
        return 'ready'
      } catch (error) {
        if (!(error instanceof StepError)) throw error
        const why = error.hint === undefined ? '' : ` (${error.hint.split('\n')[0] ?? ''})`
        return `Electron ${error.message}${why}, so a browser shows the console. Try again: npm run desktop`
      }
    })
  await allSettledOrThrow([
    sessions(),
    renderer ? page() : Promise.resolve(),
    desktop && renderer ? app() : Promise.resolve(),
  ])
  return environment
}

/** Passes on the address of an engine that is not at the usual place: later processes would not find it. */
function hostVariable({ host }: EngineEndpoint): Record<string, string> {
  return host === `unix://${DEFAULT_SOCKET}` ? {} : { DOCKER_HOST: host }
}

/** Prints why the bootstrap cannot continue. @returns the exit code */
export function describeFailure(error: unknown, signal: AbortSignal, say: (text: string) => void): number {
  if (signal.aborted) return 130
  if (error instanceof StepError) say(error.hint === undefined ? '' : `${error.hint.replaceAll(/^/gm, '  ')}\n`)
  else say(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`)
  return 1
}
