import { type AgentId, AppError } from '#manager/contract'
import { type JoinInvitation } from './join-string.ts'

export interface ReplaceOptions {
  /** The flag `--replace` of the agent's command line. */
  readonly replace: boolean
  readonly invitation?: JoinInvitation | undefined
}

/**
 * Id of the agent that this one replaces; undefined if it replaces none. A replacement must be confirmed in two places: by the
 * join string, which an admin made for that purpose, and by the setting `--replace` where the agent is started.
 * @throws `config_invalid` if only one of the two asks for a replacement
 */
export function replacedBy({ replace, invitation }: ReplaceOptions): AgentId | undefined {
  const { replaces } = invitation ?? {}
  if (replaces !== undefined && !replace) {
    throw new AppError('config_invalid', {
      why: `This join string replaces agent ${replaces}: add --replace.`,
    })
  }
  if (replace && invitation && replaces === undefined) {
    throw new AppError('config_invalid', {
      why: '--replace needs a join string made for that: berth admin agent join-token --replace AGENT.',
    })
  }
  return replaces
}
