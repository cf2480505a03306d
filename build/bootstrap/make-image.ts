// Makes one image of build/images with the engine of this computer: `node build/bootstrap/make-image.ts RECIPE [--base IMAGE]`,
// or lists the recipes. `berth admin image build` runs this. The log of the build goes to standard error, the tags to standard
// output.
import { parseArgs } from 'node:util'
import { dataDirectory } from '../../cli/config/directories.ts'
import { allSettledOrThrow, engineStep } from './build-images.ts'
import { ensureBaseImage } from './base-image.ts'
import { ensureImage } from './build-image.ts'
import { nameOf, type Recipe, RECIPES } from './image-recipes.ts'
import { readPlatform } from './platform.ts'
import { describeFailure } from './prepare.ts'
import { createProgress } from './progress.ts'

const { positionals, values } = parseArgs({ allowPositionals: true, options: { base: { type: 'string' } } })
const [wanted] = positionals
if (wanted === undefined) list()
else process.exitCode = await make(wanted)

function list(): void {
  for (const recipe of RECIPES) {
    process.stdout.write(
      `${nameOf(recipe).padEnd(8)} ${recipe.tags.join(', ').padEnd(20)} ${recipe.about ?? recipe.title}\n`,
    )
  }
}

async function make(name: string): Promise<number> {
  const found = RECIPES.find(recipe => nameOf(recipe) === name)
  if (!found) {
    process.stderr.write(`There is no recipe "${name}". Recipes: ${RECIPES.map(nameOf).join(', ')}.\n`)
    return 2
  }
  if (values.base !== undefined && found.args?.BASE === undefined) {
    process.stderr.write(`The recipe "${name}" takes no --base.\n`)
    return 2
  }
  const recipe = values.base === undefined ? found : { ...found, args: { BASE: values.base } }
  const stop = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => stop.abort(new Error('interrupted')))
  }
  const write = (text: string) => void process.stderr.write(text)
  // Without a terminal's one line: whoever builds an image wants to read the whole log.
  const progress = createProgress({ write, terminal: false, quietMs: Number.POSITIVE_INFINITY })
  const { signal } = stop
  const deps = { progress, platform: readPlatform(), dataDir: dataDirectory(), signal }
  try {
    const engine = await engineStep(deps)
    const logged = (note: (text: string) => void) => (text: string) => {
      write(text.endsWith('\n') ? text : `${text}\n`)
      note(text)
    }
    await progress.step('Base image', note =>
      ensureBaseImage({ ...deps, engine, note: logged(note), workDir: `${deps.dataDir}/tmp` }),
    )
    for (const one of withBases(recipe)) {
      await allSettledOrThrow([
        progress.step(one.title, note => ensureImage(one, { engine, note: logged(note), signal })),
      ])
    }
    process.stdout.write(`${recipe.tags.join('\n')}\n`)
    return 0
  } catch (error) {
    return describeFailure(error, signal, write)
  }
}

/** The recipes to build, bases first. */
function withBases(recipe: Recipe): Recipe[] {
  const base = RECIPES.find(one => nameOf(one) === recipe.from)
  return base ? [base, recipe] : [recipe]
}
