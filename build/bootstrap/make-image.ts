// Makes the toolbox, or images of build/images, with the engine of this computer:
// `node build/bootstrap/make-image.ts RECIPE… [--base IMAGE] [--no-install]`, or lists the recipes. `berth admin image build` and
// `berth up --images` run this. The log of the build goes to standard error, the tags to standard output.
import { parseArgs } from 'node:util'
import { dataDirectory } from '../../cli/config/directories.ts'
import { ensureBaseImage } from './base-image.ts'
import { ensureImage, isBuilt } from './build-image.ts'
import { engineStep } from './build-images.ts'
import { nameOf, type Recipe, RECIPES, TOOLBOX } from './image-recipes.ts'
import { readPlatform } from './platform.ts'
import { describeFailure } from './prepare.ts'
import { createProgress } from './progress.ts'

const KNOWN: readonly Recipe[] = [TOOLBOX, ...RECIPES]
const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { base: { type: 'string' }, 'no-install': { type: 'boolean' } },
})
if (positionals.length === 0) list()
else process.exitCode = await make(positionals)

function list(): void {
  for (const recipe of KNOWN) {
    process.stdout.write(
      `${nameOf(recipe).padEnd(8)} ${recipe.tags.join(', ').padEnd(20)} ${recipe.about ?? recipe.title}\n`,
    )
  }
}

async function make(names: readonly string[]): Promise<number> {
  const recipes: Recipe[] = []
  for (const name of names) {
    const found = KNOWN.find(recipe => nameOf(recipe) === name)
    if (!found) {
      process.stderr.write(`There is no recipe "${name}". Recipes: ${KNOWN.map(nameOf).join(', ')}.\n`)
      return 2
    }
    if (values.base !== undefined && found.args?.BASE === undefined) {
      process.stderr.write(`The recipe "${name}" takes no --base.\n`)
      return 2
    }
    recipes.push(values.base === undefined ? found : { ...found, args: { BASE: values.base } })
  }
  const stop = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => stop.abort(new Error('interrupted')))
  }
  const write = (text: string) => void process.stderr.write(text)
  // Without a terminal, so that progress is not reduced to one line: people who build an image want to read the whole log.
  const progress = createProgress({ write, terminal: false, quietMs: Number.POSITIVE_INFINITY })
  const { signal } = stop
  const platform = readPlatform()
  const deps = { progress, platform, dataDir: dataDirectory(), signal }
  try {
    // Only root installs or starts an engine; a service must not do so unasked.
    const engine = await engineStep(values['no-install'] ? { ...deps, platform: { ...platform, root: false } } : deps)
    const logged = (note: (text: string) => void) => (text: string) => {
      write(text.endsWith('\n') ? text : `${text}\n`)
      note(text)
    }
    const images = recipes.flatMap(withBases)
    await progress.step('Base image', async note => {
      if ((await Promise.all(images.map(one => isBuilt(one, engine)))).every(Boolean)) return 'not needed'
      return await ensureBaseImage({ ...deps, engine, note: logged(note), workDir: `${deps.dataDir}/tmp` })
    })
    for (const one of images) {
      await progress.step(one.title, note => ensureImage(one, { engine, note: logged(note), signal }))
    }
    process.stdout.write(`${recipes.flatMap(recipe => recipe.tags).join('\n')}\n`)
    return 0
  } catch (error) {
    return describeFailure(error, signal, write)
  }
}

/** The recipes to build, bases first. */
function withBases(recipe: Recipe): Recipe[] {
  const base = KNOWN.find(one => nameOf(one) === recipe.from)
  return base ? [base, recipe] : [recipe]
}
