/** A web app that costs as little as possible, in the container of the bench. `node http-service.ts PORT` */
import { createServer } from 'node:http'

const BODY = 'x'.repeat(200)
const server = createServer({ keepAliveTimeout: 60_000 }, (_request, response) => {
  response.writeHead(200, { 'content-type': 'text/plain', 'content-length': BODY.length }).end(BODY)
})
server.listen(Number(process.argv[2]), '0.0.0.0', 4096)
