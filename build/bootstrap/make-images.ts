// Makes all images, those of the tests too: `node build/bootstrap/make-images.ts`. Use it when working on a recipe; `npm start`
// and `npm test` make the images as one of their steps.
import { dataDirectory } from '../../cli/config/directories.ts'
import { engineStep, imageSteps } from './build-images.ts'
import { readPlatform } from './platform.ts'
import { createProgress } from './progress.ts'

const platform = readPlatform()
const stop = new AbortController()
process.once('SIGINT', () => {
  stop.abort(new Error('interrupted'))
})
const deps = {
  progress: createProgress({ write: text => process.stderr.write(text), terminal: process.stderr.isTTY }),
  platform,
  dataDir: dataDirectory(),
  signal: stop.signal,
}
await imageSteps(await engineStep(deps), { ...deps, tests: true })
