// `npm run dev`: like `npm start`, with the console served by vite, so that a change shows at once. Same flags.
import { launch } from './launch.mjs'

await launch('dev.ts')
