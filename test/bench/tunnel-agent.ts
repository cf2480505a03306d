/**
 * The real agent's half of the path; the container is a service on this machine. `node tunnel-agent.ts MANAGER_PORT
 * SERVICE_PORT [KEY]`, with the key of the direct path if it is offered
 */
import { createDataSockets } from '../../agent/tunnel/data-sockets.ts'
import { log, streamsTo } from './made-up-container.ts'
import { DATA_TOKEN } from './tunnel-names.ts'
import { serveMemory } from './tunnel-memory.ts'

const [managerPort = '', servicePort = '', directKey] = process.argv.slice(2)
const streams = streamsTo('bench', Number(servicePort), directKey)
createDataSockets({
  managerUrl: `http://127.0.0.1:${managerPort}`,
  dataToken: DATA_TOKEN,
  count: 8,
  serve: streams.serve,
  log,
})
process.send?.({ port: 0 })
serveMemory()
