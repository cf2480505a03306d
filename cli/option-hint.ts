import { type Command } from 'commander'
import { isAppError } from '#manager/contract'

/**
 * Options that give what an error asks to choose, by its cause or code: the texts of errors are those of the page, which has fields for
 * this.
 */
export const OPTIONS: Readonly<Record<string, string>> = {
  group_needed: '--project',
  group_inactive: '--project',
  project_deleted_choose: '--project',
  resource_group_inactive: '--resource-group',
  resource_group_not_found: '--resource-group',
  session_name_taken: '--name',
  network_not_allowed: '--network',
  image_of_other: '--keep-command',
  batch_command_of_other: '--keep-command',
  docker_hub_no_catalogue: '--project',
  registry_no_catalogue: '--project',
  registry_in_clear: '--allow-http',
}

/** A line with the option of `command` that gives what the error asks for; empty if there is none, or if it was given already. */
export function optionHint(error: unknown, command: Command | undefined): string {
  if (!isAppError(error) || !command) return ''
  const wanted = OPTIONS[String(error.detail['cause'])] ?? OPTIONS[error.code]
  const option = command.options.find(({ long, hidden }) => !hidden && long === wanted)
  if (!option || command.getOptionValueSource(option.attributeName()) === 'cli') return ''
  return `\n  Option: ${option.flags}`
}
