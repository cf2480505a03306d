import { type Command, Option } from 'commander'
import { AppError } from '#manager/contract'
import { agrees } from '../agrees.ts'
import { createOutput } from '../output.ts'
import { MCP_CLIENTS, type McpClient } from '../mcp/client-settings.ts'

/** Loaded late: other commands need nothing of it. */
const loadServe = () => import('../mcp/serve.ts')
const loadSettings = () => import('../mcp/client-settings.ts')

const NO_TOKEN =
  'Set BERTH_TOKEN to an access token: `berth token create NAME --scope read`, with launch, enter and files as the program needs them.'

/** Adds `berth mcp` and `berth mcp configure`. */
export function addMcpCommand(program: Command): void {
  const mcp = program
    .command('mcp')
    .description(
      'Serve the tools of Berth to a program that speaks the Model Context Protocol, over standard input and output.',
    )
    .addHelpText(
      'after',
      '\nNeeds BERTH_TOKEN and BERTH_ENDPOINT; the scopes of the token decide which tools there are.',
    )
    .action(async () => {
      if (!process.env.BERTH_TOKEN) throw new AppError('config_invalid', { why: NO_TOKEN })
      const { serveMcp } = await loadServe()
      await serveMcp()
    })

  mcp
    .command('configure')
    .description('Print the settings with which a client starts `berth mcp`, or write them into its file.')
    .addOption(new Option('--client <name>', 'the client').choices(MCP_CLIENTS).default('generic'))
    .option('--endpoint <address>', 'address of Berth (default: BERTH_ENDPOINT)')
    .option('--write', 'write them into the file of the client, after a question; the rest of the file stays')
    .option('--file <path>', 'that file, if it is not the usual one')
    .action(async (flags: { client: McpClient; endpoint?: string; write?: true; file?: string }) => {
      const { addToFile, settingsFile, settingsOf } = await loadSettings()
      const endpoint = flags.endpoint ?? process.env.BERTH_ENDPOINT
      if (!endpoint || !URL.canParse(endpoint)) {
        throw new AppError('bad_request', {
          why: 'Name the address of Berth with --endpoint, such as https://berth.example.org.',
        })
      }
      const output = createOutput(false)
      const settings = settingsOf(flags.client, endpoint)
      if (!flags.write) {
        output.data(settings, () => JSON.stringify(settings, undefined, 2))
        return
      }
      const file = flags.file ?? settingsFile(flags.client)
      if (file === undefined)
        throw new AppError('bad_request', { why: 'Name the file with --file, or the client with --client.' })
      if (!(await agrees(`Add Berth to ${file}?`, 'Nothing was written.'))) return
      await addToFile(file, settings)
      output.note(
        `Berth is in ${file}. Put the access token where it says PUT-THE-ACCESS-TOKEN-HERE, unless the client asks for it, and start the client again.`,
      )
    })
}
