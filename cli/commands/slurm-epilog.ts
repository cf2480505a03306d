import { type Command } from 'commander'
import { SLURM_EPILOG } from '../slurm-epilog.ts'

/** `berth slurm-epilog`: the script that ties sessions to the end of their jobs in Slurm. */
export function addSlurmEpilogCommand(program: Command): void {
  program
    .command('slurm-epilog')
    .description(
      'Print the script that ends the containers of a session when its job in Slurm ends. Save it on each node, make it executable, and name it as Epilog in slurm.conf.',
    )
    .action(() => {
      process.stdout.write(SLURM_EPILOG)
    })
}
