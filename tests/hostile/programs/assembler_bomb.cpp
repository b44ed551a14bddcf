// hostile: family=build verdict=memory_limit,time_limit,build_error lift=wall shows=alive
// Has the assembler repeat itself.
__asm__(".rept 30000\n .rept 30000\n .quad 1,2,3,4,5,6,7,8\n .endr\n .endr");
