/** Longest text for a chat room, in characters. */
const LONGEST = 1000

/**
 * A payload as one line for a chat room, as Slack and Mattermost take it: `{"text": …}`. In English, as mails are.
 *
 * Threat model: reasons may hold words of programs and of people. `&`, `<` and `>` are escaped, because Slack reads `<!channel>` and
 * `<https://…|text>`; a zero-width space takes the meaning from `@channel`, from `@name`, which Mattermost reads, and from links of
 * Markdown. Mail addresses stay as they are.
 */
export function chatText(payload: Readonly<Record<string, unknown>>): string {
  const line = lineOf(payload).replaceAll(/\s+/g, ' ').trim().slice(0, LONGEST)
  return line
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll(/@(?=(all|channel|here|everyone)\b)|(?<![\w.+-])@(?=\w)/gi, '@\u200B')
    .replaceAll('](', ']\u200B(')
}

type Fields = Readonly<Record<string, unknown>>
const fieldsOf = (value: unknown): Fields => (typeof value === 'object' && value !== null ? (value as Fields) : {})
const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')

function lineOf({ type, data }: Fields): string {
  const { session, reason, host, gpu, problem, exitCode, waitingSince, limit } = fieldsOf(data)
  const { name, owner, project } = fieldsOf(session)
  const why = textOf(fieldsOf(reason).message)
  const of = `${textOf(name)} of ${textOf(owner)}${project ? `, project ${textOf(fieldsOf(project).name)},` : ''}`
  const hostName = textOf(fieldsOf(host).name)
  switch (type) {
    case 'session.launched':
      return `Session ${of} was launched.`
    case 'session.started':
      return `Session ${of} has started.`
    case 'session.ended':
      return `Session ${of} has ended${typeof exitCode === 'number' ? ` with exit code ${exitCode}` : ''}. ${why}`
    case 'session.waiting':
      return `Session ${of} has been waiting since ${textOf(waitingSince).slice(0, 16).replace('T', ' ')} UTC. ${why}`
    case 'limit.reached':
      return `A limit is reached (${textOf(limit)}): session ${of} waits. ${why}`
    case 'host.lost':
      return `Host ${hostName} does not answer any more.`
    case 'host.back':
      return `Host ${hostName} is back.`
    case 'host.problem':
      return textOf(problem) || `Host ${hostName} has a problem${gpu ? ` with ${textOf(gpu)}` : ''}.`
    case 'host.well':
      return `Sessions can start on the host ${hostName} again.`
    default:
      return `This is a test of Berth: the webhook "${textOf(fieldsOf(data).webhook)}" works.`
  }
}
