/* kry_mpi.c - kry_team_of_mpi of the module kry: compiled with a program, for the MPI that it uses. */
#include <kry/mpi.h>

kry_status kry_fortran_team_of_mpi(MPI_Fint comm, kry_device *const *device, kry_device **team,
                                   const kry_team_params *params);

kry_status kry_fortran_team_of_mpi(MPI_Fint comm, kry_device *const *device, kry_device **team,
                                   const kry_team_params *params)
{
    kry_team_params sized = { 0 };

    if (params) sized = *params;
    sized.struct_size = sizeof sized;
    return kry_team_of_mpi(MPI_Comm_f2c(comm), *device, &sized, team);
}
